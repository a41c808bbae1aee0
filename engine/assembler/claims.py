"""Who brings a block: itself, the text that contains it already, or the reference that stands for it.

Decided before anything is placed, so that the order of the list does not matter; the first to claim wins.
Source: assembler spec 2.3 and 3.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from engine.assembler.arrangement import Arrangement
from engine.assembler.blocks import Block, ReferenceBlock, TextBlock
from engine.assembler.faults import Remarks, source_invalid
from engine.assembler.resolution import Job, Macro, Resolution
from engine.assembler.strategy import Strategy

__all__ = ["Claims", "Use", "used_macros"]

_USE: Final = re.compile(r"\{\{([^{}]+)\}\}")


@dataclass(frozen=True, slots=True)
class Use:
    """A macro of a source where it stands in a text. It inserts nothing when its block stays where it is."""

    start: int
    end: int
    name: str
    macro: Macro


def used_macros(text: str, job: Job, block: TextBlock, macros: Mapping[str, Macro]) -> list[Use]:
    """The sources' macros in a text. Raises AssemblyError for one that the source has not declared."""
    if "{{" not in text or not macros:
        return []
    uses: list[Use] = []
    for found in _USE.finditer(text):
        name = found[1].strip()
        macro = macros.get(name.casefold())
        if macro is None or name in block.literals:
            continue
        owner = macro.job.rule.kind
        if owner != job.rule.kind and owner not in job.definition.dependencies:
            raise source_invalid(
                f"{job.rule.kind} uses {{{{{name}}}}} of {owner} and does not declare it as a dependency.",
                "SOURCE_DEPENDENCY_UNDECLARED",
                source_id=job.rule.kind,
                dependency=owner,
            )
        uses.append(Use(found.start(), found.end(), name, macro))
    return uses


class Claims:
    """The claims of one assembly. `owners` tells for the key of a block who brings it, if not itself."""

    def __init__(self, resolution: Resolution, arrangement: Arrangement, remarks: Remarks) -> None:
        self._resolution = resolution
        self._arrangement = arrangement
        self._strategy: Strategy = arrangement.strategy
        self._remarks = remarks
        self._missing: set[str] = set()
        self.owners: dict[str, str] = {}
        self._seen: set[str] = set()
        self._uses: dict[str, list[Use]] = {}
        self._targets: dict[str, tuple[Job | None, list[Block]]] = {}
        self.roots: list[tuple[Job, list[Block]]] = list(self._roots())
        self._settle()

    def uses(self, key: str, job: Job, block: TextBlock) -> list[Use]:
        """The sources' macros in a text block."""
        if "{" not in block.text:
            return []
        if key not in self._uses:
            self._uses[key] = used_macros(block.text, job, block, self._resolution.macros)
        return self._uses[key]

    def targets(self, job: Job, reference: ReferenceBlock) -> tuple[Job | None, list[Block]]:
        """The blocks that a reference means, and whose they are. A missing source is remarked once."""
        key = job.key(reference)
        if key not in self._targets:
            self._targets[key] = self._found(reference)
        return self._targets[key]

    def _found(self, reference: ReferenceBlock) -> tuple[Job | None, list[Block]]:
        target = self._resolution.by_kind.get(reference.source_id)
        if target is None:
            if reference.source_id not in self._missing:
                self._missing.add(reference.source_id)
                self._remarks.add("ASSEMBLY_REFERENCE_UNAVAILABLE", sourceId=reference.source_id)
            return None, []
        if self._kept_by_list(target, reference):
            named = reference.block_ids or ()
            return target, [
                block
                for block in self._blocks(target, named)
                if isinstance(block, TextBlock) and block.reference_only
            ]
        if target.listed and not target.rule.enabled and reference.honor_enabled:
            return target, []
        if reference.block_ids is not None:
            blocks = self._blocks(target, reference.block_ids)
        else:
            blocks = [
                block
                for block in target.output.blocks
                if not (isinstance(block, TextBlock) and block.reference_only)
            ]
        group = reference.group
        if group is not None:
            blocks = [block for block in blocks if getattr(block, "group", None) == group]
        if self._arrangement.unmoved:
            return target, blocks
        return target, [block for block in blocks if self._arrangement.movable(target.definition, block)]

    def expands(self, macro: Macro) -> bool:
        """Whether a macro inserts its block's text; otherwise the block stays where it is."""
        if self._strategy.listed and macro.job.listed:
            return False
        return self._arrangement.movable(macro.job.definition, macro.block)

    def _kept_by_list(self, target: Job, reference: ReferenceBlock) -> bool:
        if not self._strategy.listed or not target.listed:
            return False
        layout = self._strategy.layout
        manual = layout is not None and layout.source == "manual"
        return manual or not reference.use_owner_rule

    @staticmethod
    def _blocks(target: Job, ids: Sequence[str]) -> list[Block]:
        wanted = set(ids)
        return [block for block in target.output.blocks if block.id in wanted]

    def _roots(self) -> Iterator[tuple[Job, list[Block]]]:
        for rule in self._strategy.rules:
            job = self._resolution.by_rule.get(rule.id) if rule.enabled else None
            if job is not None:
                yield job, self._emitted(job)

    def _emitted(self, job: Job) -> list[Block]:
        """The blocks that come out by themselves: not those that are only referred to, nor what is off."""
        blocks = [
            block
            for block in job.output.blocks
            if not (isinstance(block, TextBlock) and block.reference_only)
        ]
        if not self._arrangement.saved:
            return blocks
        return [
            block
            for block in blocks
            if isinstance(block, ReferenceBlock) or self._arrangement.included(job.definition, block)
        ]

    def _settle(self) -> None:
        roots = self.roots
        if self._strategy.adaptive:
            # the spine comes first: no text elsewhere in the list can take the conversation out of it
            roots = sorted(roots, key=lambda root: not root[0].definition.slot_owner)
        for job, blocks in roots:
            for block in blocks:
                if not _plain(block):
                    self._contents(job, block)
        for job, blocks in roots:
            for block in blocks:
                if isinstance(block, ReferenceBlock):
                    self._references(job, block, ())

    def _contents(self, job: Job, block: Block) -> None:
        """What texts contain: of this block, and of all that it refers to."""
        key = job.key(block)
        if key in self._seen:
            return
        self._seen.add(key)
        if isinstance(block, ReferenceBlock):
            target, blocks = self.targets(job, block)
            for inner in blocks:
                if target is not None and not _plain(inner):
                    self._contents(target, inner)
        elif isinstance(block, TextBlock):
            for source_id, block_id in block.claims:
                claimed = self._resolution.by_kind.get(source_id)
                if claimed is not None:
                    self.owners.setdefault(f"{claimed.rule.id}:{block_id}", key)
            for use in self.uses(key, job, block):
                if self.expands(use.macro):
                    self.owners.setdefault(use.macro.job.key(use.macro.block), key)

    def _references(self, job: Job, reference: ReferenceBlock, around: tuple[str, ...]) -> None:
        key = job.key(reference)
        if key in around:
            raise source_invalid(
                f"References of {job.rule.kind} run in a circle.",
                "SOURCE_REFERENCE_CYCLE",
                source_id=job.rule.kind,
            )
        target, blocks = self.targets(job, reference)
        for block in blocks:
            assert target is not None  # else there are no blocks
            inner = target.key(block)
            if isinstance(block, ReferenceBlock):
                self._references(target, block, (*around, key))
            self.owners.setdefault(inner, key)


def _plain(block: Block) -> bool:
    """Whether the block is a text that can contain no other."""
    return isinstance(block, TextBlock) and not block.claims and "{" not in block.text
