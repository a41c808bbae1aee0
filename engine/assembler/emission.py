"""Bringing the blocks out: each one once, with its role, depth and text. Assembler spec 3, steps 4 to 6."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from engine.assembler.arrangement import CHARACTER, GREETING, NATIVE_SYSTEM, Arrangement
from engine.assembler.blocks import Block, NativeBlock, ReferenceBlock, TextBlock
from engine.assembler.claims import Claims
from engine.assembler.definition import Render
from engine.assembler.faults import Remarks, blaming, source_invalid, too_large
from engine.assembler.node import Node, NodeMessage, Slot
from engine.assembler.request import MAX_BYTES
from engine.assembler.resolution import Job, Resolution
from engine.assembler.strategy import Rule
from engine.session import Message

__all__ = ["Emission", "emit"]


@dataclass(frozen=True, slots=True)
class _Way:
    """How references led to a block: the role of the outermost one, the slot of the innermost one."""

    plan: Rule
    rule: Rule | None
    role: str | None
    key: str
    lock: str | None
    slot_owner: str | None


@dataclass(frozen=True, slots=True)
class Emission:
    """`nodes` in the order of the plan, `deferred` those at a depth, `required` the native messages that
    must come out."""

    nodes: list[Node]
    deferred: list[Node]
    slots: list[Slot]
    required: set[str]


def emit(resolution: Resolution, arrangement: Arrangement, remarks: Remarks) -> Emission:
    """Bring out what the strategy's rules and their references mean."""
    emitter = _Emitter(resolution, arrangement, remarks)
    for job, blocks in emitter.claims.roots:
        emitter.bring(job, blocks, None)
    nodes = [node for rule in arrangement.strategy.rules for node in emitter.plans.get(rule.id, ())]
    return Emission(nodes, emitter.deferred, emitter.slots, emitter.required)


class _Emitter:
    def __init__(self, resolution: Resolution, arrangement: Arrangement, remarks: Remarks) -> None:
        self.claims = Claims(resolution, arrangement, remarks)
        self.plans: defaultdict[str, list[Node]] = defaultdict(list)
        self.deferred: list[Node] = []
        self.slots: list[Slot] = []
        self.required: set[str] = set()
        self._resolution = resolution
        self._arrangement = arrangement
        self._strategy = strategy = arrangement.strategy
        self._preserved = strategy.layout is not None and not strategy.positional
        self._by_roles = strategy.placement == "native-roles"
        self._adaptive = strategy.adaptive
        self._listed = strategy.listed
        self._remarks = remarks
        self._done: set[str] = set()
        self._native: Mapping[str, Message] = {
            message["id"]: message for message in resolution.context.native
        }
        self._depths: dict[str, int | None] | None = None
        self._renders: dict[Any, Render] = {}
        self._room = MAX_BYTES

    def bring(self, job: Job, blocks: Mapping[str, Block], way: _Way | None) -> None:
        """Bring out those of a source's blocks that belong here and are not out yet."""
        owners, done = self.claims.owners, self._done
        render = self._render(job)
        for key, block in blocks.items():
            if owners.get(key, key) != (key if way is None else way.key):
                if way is None and isinstance(block, NativeBlock):
                    self.required.update(block.message_ids)  # whoever claimed them must bring them
            elif isinstance(block, ReferenceBlock):
                self._reference(job, block, key, way)
                done.add(key)
            elif key not in done:
                done.add(key)
                if isinstance(block, TextBlock):
                    self._text(job, block, key, way, render)
                else:
                    self._native_block(job, block, key, way)

    def _reference(self, job: Job, block: ReferenceBlock, key: str, way: _Way | None) -> None:
        target, blocks = self.claims.targets(key, block)
        slot = Slot(key, block.source_id, block.group, list(blocks))
        self.slots.append(slot)
        if target is None:
            return
        if blocks and blocks.keys() <= self._done:
            slot.duplicate = True
            self._remarks.add("LAYOUT_DUPLICATE_SLOT", slotId=key)
            return
        rule = way.rule if way is not None and way.rule is not None else job.rule
        owner = job.rule.id if job.definition.slot_owner else None
        inside = _Way(
            plan=way.plan if way is not None else job.rule,
            rule=rule if block.use_owner_rule else None,
            role=way.role if way is not None else block.role,
            key=key,
            lock=f"reference:{block.owner or block.id}" if block.lock else None,
            slot_owner=(way.slot_owner if way is not None else None) or owner,
        )
        self.bring(target, blocks, inside)

    # Blocks

    def _native_block(self, job: Job, block: NativeBlock, key: str, way: _Way | None) -> None:
        node = self._node(job, block, key, job.rule, way)
        node.native = True
        node.name = node.field = block.id
        node.messages = tuple(self._message(job, message_id, key) for message_id in block.message_ids)
        if not node.messages and not (node.anchor and self._adaptive):
            return
        self.required.update(block.message_ids)
        node.children = block.children
        depth = job.rule.depth if block.depth is None else block.depth
        if job.definition.id == NATIVE_SYSTEM:
            depth = self._behind(block.message_ids[0])
        self._plan(node, depth if not self._adaptive else None)

    def _behind(self, message_id: str) -> int | None:
        """The depth of an instruction that follows a message which comes out: it keeps its place there,
        however the modules are moved. None for one that stands before the conversation."""
        if self._depths is None:
            out, self._depths = self.claims.native_ids(), {}
            spoken = [each["id"] in out and each["role"] != "system" for each in self._native.values()]
            left = total = sum(spoken)
            for message, counts in zip(self._native.values(), spoken, strict=True):
                left -= counts
                self._depths[message["id"]] = left if left < total else None
        return self._depths[message_id]

    def _message(self, job: Job, message_id: str, key: str) -> NodeMessage:
        message = self._native.get(message_id)
        if message is None:
            raise source_invalid(
                f"{job.rule.kind} names a message that is not in the conversation: {message_id}.",
                source_id=job.rule.kind,
            )
        return NodeMessage(message["role"], None, key, message)

    def _text(self, job: Job, block: TextBlock, key: str, way: _Way | None, render: Render | None) -> None:
        own, definition = job.rule, job.definition
        text, children = block.text, block.children
        if "{" in text:
            text, children = self._inserted(job, block, key)
        if text and render is not None:
            text = render(text, block.literals, key)
            if not isinstance(text, str):
                raise source_invalid(f"The renderer of {own.kind} gave no text.", source_id=own.kind)
        if not text:
            return
        routed = block.target_source_id
        target = self._strategy.enabled(routed) if routed is not None else None
        rule = target or (way.rule if way is not None else None) or own
        node = self._node(job, block, key, rule, way)
        if target is not None:
            node.plan_rule_id = target.id
        node.children = children
        node.name = block.name or block.id
        node.field = block.field or block.id
        node.resource_id = block.resource_id
        node.stability = block.stability or definition.stability
        node.group = block.group
        node.order = block.order
        node.lifetime = rule.lifetime
        node.entry_roles = definition.entry_roles
        if definition.slot_owner:
            node.slot_owner = own.id
        role = block.role
        if role is None:
            # hand-written text has the role that was written with it, other text none but its source's
            role = rule.role if own.input_mode == "text" and rule.role != "preserve" else "system"
        node.original_role = role
        if self._preserved or (self._by_roles and node.entry_roles):
            pass
        elif self._adaptive and node.slot_owner is not None:
            role = (way.role if way is not None else None) or role
        elif rule.role != "preserve":
            role = rule.role
        node.role = role
        node.messages = (NodeMessage(role, text, key),)
        depth = block.depth
        if depth is None and rule.depth is None:
            self.plans[node.plan_rule_id].append(node)
        else:
            self._plan(node, self._depth(job, depth, rule, node))

    def _node(self, job: Job, block: TextBlock | NativeBlock, key: str, rule: Rule, way: _Way | None) -> Node:
        node = Node(key, rule, job.rule.kind, job.rule.id, job.definition.plugin_id, rule.id)
        position = job.definition.position_of(block)
        node.position_id = position.id if position is not None else None
        if way is not None:
            node.plan_rule_id = way.plan.id
            node.slot_id = way.key
            node.slot_owner = way.slot_owner
            node.lock_reason = way.lock
        return node

    def _depth(self, job: Job, depth: int | None, rule: Rule, node: Node) -> int | None:
        arrangement = self._arrangement
        # the scene's first words stay before the conversation, whatever place the list gives its character
        fixed = node.module == CHARACTER and node.field == GREETING
        if depth is None or (self._listed and not fixed and (job.listed or rule is not job.rule)):
            depth = rule.depth
        if depth is None:
            return None
        slot_lost = node.slot_id is not None and arrangement.slot_depth_lost
        if not fixed and (arrangement.depth_lost or slot_lost):
            return None
        if node.position_id is not None and arrangement.dragged(job.rule.kind, node.position_id):
            return None
        return depth

    def _plan(self, node: Node, depth: int | None) -> None:
        if depth is not None and not self._adaptive:
            node.depth = depth
            self.deferred.append(node)
            return
        if depth is not None:
            node.requested_depth = depth
            near = self._strategy.placement == "native-slots" and node.entry_roles and depth in (0, 1)
            if not near:
                self._remarks.add("NATIVE_DEPTH_APPROXIMATED", id=node.id, name=node.name, depth=depth)
        self.plans[node.plan_rule_id].append(node)

    # Text

    def _inserted(self, job: Job, block: TextBlock, key: str) -> tuple[str, tuple[Mapping[str, Any], ...]]:
        """The text with the blocks that its macros stand for, as their sources wrote them; its children."""
        uses = self.claims.uses(key, job, block)
        if not uses:
            return block.text, block.children
        out, at = [], 0
        children: list[Mapping[str, Any]] = []
        for use in uses:
            out.append(block.text[at : use.start])
            at = use.end
            if self.claims.expands(use.macro):
                inner = use.macro.block
                self._room -= len(inner.text)
                if self._room < 0:  # a short text may name a long one very often
                    raise too_large(MAX_BYTES - self._room, MAX_BYTES)
                out.append(inner.text)
                children.append(
                    {
                        "name": inner.name or inner.id,
                        "lockReason": f"macro:{use.name}",
                        "text": inner.text,
                        "resourceId": inner.resource_id,
                    }
                )
        return "".join([*out, block.text[at:]]), (*block.children, *children)

    def _render(self, job: Job) -> Render | None:
        """The renderer of this assembly; sources that share one share its variables."""
        maker, definition = job.definition.render_text, job.definition
        if maker is not None and maker not in self._renders:
            with blaming(definition.name, definition.id):
                render = maker(self._resolution.context, self._remarks.add)

            def blamed(text: str, literals: Mapping[str, str], key: str) -> str:
                try:
                    return render(text, literals, key)
                except Exception as error:  # entering `blaming` for each of a thousand texts would show
                    with blaming(definition.name, definition.id):
                        raise error

            self._renders[maker] = blamed
        return None if maker is None else self._renders[maker]
