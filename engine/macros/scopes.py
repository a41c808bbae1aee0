"""Scopes: which `{{/name}}` ends which `{{name}}` among the nodes of one level.

A closing tag belongs to the nearest opener of its name that can take a scope. When there is only one
that cannot (`{{user}}…{{/user}}`), both stay as written. Source: spec sillytavern 4.2.
"""

from __future__ import annotations

from collections import defaultdict

from engine.macros.nodes import MAX_DEPTH, Macro, Node, Scope, Takes

__all__ = ["scoped"]


def scoped(nodes: list[Node], takes: Takes, depth: int, too_deep: list[int]) -> list[Node]:
    """The nodes with each matched pair of tags made one macro with a scope."""
    partner = _Matching(takes).partners(nodes)
    return _Building(nodes, partner, too_deep).between(0, len(nodes), depth)


class _Matching:
    def __init__(self, takes: Takes) -> None:
        self._takes = takes
        self._open: list[int] = []
        self._able: defaultdict[str, list[int]] = defaultdict(list)
        self._unable: defaultdict[str, list[int]] = defaultdict(list)

    def partners(self, nodes: list[Node]) -> dict[int, int]:
        """Index of each opener → index of its closing tag. Each opener is pushed and popped once."""
        partner: dict[int, int] = {}
        for index, node in enumerate(nodes):
            if not isinstance(node, Macro) or not node.name:
                continue
            if not node.closing:
                able = self._takes(node.name, len(node.args) + 1)
                (self._able if able else self._unable)[node.name].append(index)
                self._open.append(index)
            elif self._able[node.name]:
                partner[self._close(nodes, node.name)] = index
            elif self._unable[node.name]:
                opener = nodes[self._unable[node.name].pop()]
                if isinstance(opener, Macro):
                    opener.spoilt = node.spoilt = True
        return partner

    def _close(self, nodes: list[Node], name: str) -> int:
        """Take the nearest able opener off, and all that are open inside it."""
        opener = self._able[name][-1]
        while True:
            last = self._open.pop()
            inner = nodes[last]
            if isinstance(inner, Macro):
                for waiting in (self._able[inner.name], self._unable[inner.name]):
                    if waiting and waiting[-1] == last:
                        waiting.pop()
            if last == opener:
                return opener


class _Building:
    def __init__(self, nodes: list[Node], partner: dict[int, int], too_deep: list[int]) -> None:
        self._nodes = nodes
        self._partner = partner
        self._too_deep = too_deep

    def between(self, first: int, last: int, depth: int) -> list[Node]:
        built: list[Node] = []
        index = first
        while index < last:
            node = self._nodes[index]
            built.append(node)
            closing = self._partner.get(index)
            index += 1
            if closing is None or not isinstance(node, Macro):
                continue
            close = self._nodes[closing]
            if not isinstance(close, Macro):
                continue
            if depth >= MAX_DEPTH:
                self._too_deep.append(node.start)
                node.spoilt = close.spoilt = True
                continue
            inside = self.between(index, closing, depth + 1)
            node.scope = Scope(node.end, close.start, inside, close)
            index = closing + 1
        return built
