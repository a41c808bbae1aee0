"""Bringing the blocks out: each one once, with its role, depth and text. Assembler spec 3, steps 4 to 6."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from engine.assembler.arrangement import Arrangement
from engine.assembler.blocks import Block, NativeBlock, ReferenceBlock, TextBlock
from engine.assembler.claims import Claims, Use
from engine.assembler.definition import Render
from engine.assembler.faults import Remarks, source_invalid, too_large
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
    required: list[str]


def emit(resolution: Resolution, arrangement: Arrangement, remarks: Remarks) -> Emission:
    """Bring out what the strategy's rules and their references mean."""
    emitter = _Emitter(resolution, arrangement, remarks)
    for job, blocks in emitter.claims.roots:
        for block in blocks:
            emitter.root(job, block)
    nodes = [node for rule in arrangement.strategy.rules for node in emitter.plans.get(rule.id, ())]
    return Emission(nodes, emitter.deferred, emitter.slots, list(emitter.required))


class _Emitter:
    def __init__(self, resolution: Resolution, arrangement: Arrangement, remarks: Remarks) -> None:
        self.claims = Claims(resolution, arrangement, remarks)
        self._owners = self.claims.owners
        self.plans: dict[str, list[Node]] = {}
        self.deferred: list[Node] = []
        self.slots: list[Slot] = []
        self.required: dict[str, None] = {}
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
        self._renders: dict[Any, Render] = {}
        self._room = MAX_BYTES

    def root(self, job: Job, block: Block) -> None:
        if isinstance(block, NativeBlock):
            self.required.update(dict.fromkeys(block.message_ids))
        key = job.key(block)
        self._block(job, block, key, key, None)

    def _block(self, job: Job, block: Block, key: str, by: str, way: _Way | None) -> None:
        if self._owners.get(key, key) != by or key in self._done:
            return
        if isinstance(block, TextBlock):
            self._done.add(key)
            self._text(job, block, key, way)
        elif isinstance(block, ReferenceBlock):
            self._reference(job, block, key, way)
        else:
            self._done.add(key)
            self._native_block(job, block, key, way)

    def _reference(self, job: Job, block: ReferenceBlock, key: str, way: _Way | None) -> None:
        target, blocks = self.claims.targets(job, block)
        slot = Slot(key, block.source_id, block.group, [])
        self.slots.append(slot)
        if target is None:
            return
        slot.node_ids = [target.key(inner) for inner in blocks]
        if blocks and all(node_id in self._done for node_id in slot.node_ids):
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
        for inner, inner_key in zip(blocks, slot.node_ids, strict=True):
            self._block(target, inner, inner_key, key, inside)

    # Blocks

    def _native_block(self, job: Job, block: NativeBlock, key: str, way: _Way | None) -> None:
        node = self._node(job, block, key, job.rule, way)
        node.native = True
        node.name = node.field = block.id
        for message_id in block.message_ids:
            message = self._native.get(message_id)
            if message is None:
                raise source_invalid(
                    f"{job.rule.kind} names a message that is not in the conversation: {message_id}.",
                    source_id=job.rule.kind,
                )
            node.messages.append(NodeMessage(message["role"], None, key, message))
        if not node.messages and not (node.anchor and self._adaptive):
            return
        self.required.update(dict.fromkeys(block.message_ids))
        self._plan(node, block.depth if not self._adaptive else None)

    def _text(self, job: Job, block: TextBlock, key: str, way: _Way | None) -> None:
        routed = block.target_source_id
        target = self._strategy.enabled(routed) if routed is not None else None
        rule = target or (way.rule if way is not None and way.rule is not None else job.rule)
        text, children = self._rendered(job, block, key)
        if not text:
            return
        definition = job.definition
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
            node.slot_owner = job.rule.id
        # hand-written text has the role that was written with it, other text none but its source's
        authored = rule.role if job.rule.input_mode == "text" and rule.role != "preserve" else "system"
        node.original_role = block.role or authored
        node.role = self._role(block, rule, node, way)
        node.messages = [NodeMessage(node.role, text, key)]
        shallow = block.depth is None and rule.depth is None
        self._plan(node, None if shallow else self._depth(job, block, rule, node))

    def _node(self, job: Job, block: TextBlock | NativeBlock, key: str, rule: Rule, way: _Way | None) -> Node:
        node = Node(key, rule, job.rule.kind, job.rule.id, job.definition.plugin_id)
        position = job.definition.position_of(block)
        node.position_id = position.id if position is not None else None
        if way is not None:
            node.plan_rule_id = way.plan.id
            node.slot_id = way.key
            node.slot_owner = way.slot_owner
            node.lock_reason = way.lock
        return node

    def _role(self, block: TextBlock, rule: Rule, node: Node, way: _Way | None) -> str:
        own = node.original_role or "system"
        if self._preserved or (self._by_roles and node.entry_roles):
            return own
        if self._adaptive and node.slot_owner is not None:
            return (way.role if way is not None else None) or own
        return own if rule.role == "preserve" else rule.role

    def _depth(self, job: Job, block: TextBlock, rule: Rule, node: Node) -> int | None:
        arrangement = self._arrangement
        depth = block.depth
        if depth is None or (self._listed and (job.listed or rule is not job.rule)):
            depth = rule.depth
        if depth is None:
            return None
        if arrangement.depth_lost or (node.slot_id is not None and arrangement.slot_depth_lost):
            return None
        if node.position_id is not None and arrangement.dragged(job.rule.kind, node.position_id):
            return None
        return depth

    def _plan(self, node: Node, depth: int | None) -> None:
        if depth is None:
            self.plans.setdefault(node.plan_rule_id, []).append(node)
            return
        if self._adaptive:
            node.requested_depth = depth
            near = self._strategy.placement == "native-slots" and node.entry_roles and depth in (0, 1)
            if not near:
                self._remarks.add("NATIVE_DEPTH_APPROXIMATED", id=node.id, name=node.name, depth=depth)
            self.plans.setdefault(node.plan_rule_id, []).append(node)
            return
        node.depth = depth
        self.deferred.append(node)

    # Text

    def _rendered(self, job: Job, block: TextBlock, key: str) -> tuple[str, Sequence[Mapping[str, Any]]]:
        text, children = block.text, block.children
        if not text:
            return "", ()
        uses = self.claims.uses(key, job, block) if "{" in text else ()
        if uses:
            text, inserts = self._inserted(text, uses)
            children = (*children, *inserts)
        maker = job.definition.render_text
        if maker is not None:
            render = self._renders.get(maker) or self._renderer(maker)
            text = render(text, block.literals, key)
            if not isinstance(text, str):
                raise source_invalid(
                    f"The renderer of {job.rule.kind} gave no text.", source_id=job.rule.kind
                )
        return text, children

    def _inserted(self, text: str, uses: Sequence[Use]) -> tuple[str, list[Mapping[str, Any]]]:
        """The text with the blocks that its macros stand for, as their sources wrote them."""
        out, at = [], 0
        children: list[Mapping[str, Any]] = []
        for use in uses:
            out.append(text[at : use.start])
            at = use.end
            if self.claims.expands(use.macro):
                block = use.macro.block
                self._room -= len(block.text)
                if self._room < 0:  # a short text may name a long one very often
                    raise too_large(MAX_BYTES - self._room, MAX_BYTES)
                out.append(block.text)
                children.append(
                    {
                        "name": block.name or block.id,
                        "lockReason": f"macro:{use.name}",
                        "text": block.text,
                        "resourceId": block.resource_id,
                    }
                )
        return "".join([*out, text[at:]]), children

    def _renderer(self, maker: Any) -> Render:
        """The renderer of this assembly; sources that share one share its variables."""
        self._renders[maker] = maker(self._resolution.context, self._remarks.add)
        return self._renders[maker]
