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
from engine.assembler.blocks import Block, NativeBlock, ReferenceBlock, TextBlock
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
        self._groups: dict[str, dict[str, dict[str, Block]]] = {}
        self._targets: dict[str, tuple[Job | None, Mapping[str, Block]]] = {}
        self.roots: list[tuple[Job, Mapping[str, Block]]] = list(self._roots())
        self._referred: dict[str, NativeBlock] = {}
        self._settle()

    def uses(self, key: str, job: Job, block: TextBlock) -> list[Use]:
        """The sources' macros in a text block."""
        if "{" not in block.text:
            return []
        if key not in self._uses:
            self._uses[key] = used_macros(block.text, job, block, self._resolution.macros)
        return self._uses[key]

    def native_ids(self) -> frozenset[str]:
        """The messages of the conversation that come out, by themselves or by a reference."""
        own = (
            block for _, blocks in self.roots for block in blocks.values() if isinstance(block, NativeBlock)
        )
        return frozenset(each for block in (*own, *self._referred.values()) for each in block.message_ids)

    def targets(self, key: str, reference: ReferenceBlock) -> tuple[Job | None, Mapping[str, Block]]:
        """The blocks that a reference means, and whose they are. A missing source is remarked once."""
        if key not in self._targets:
            self._targets[key] = self._found(reference)
        return self._targets[key]

    def _found(self, reference: ReferenceBlock) -> tuple[Job | None, Mapping[str, Block]]:
        target = self._resolution.by_kind.get(reference.source_id)
        if target is None:
            if reference.source_id not in self._missing:
                self._missing.add(reference.source_id)
                self._remarks.add("ASSEMBLY_REFERENCE_UNAVAILABLE", sourceId=reference.source_id)
            return None, {}
        if self._kept_by_list(target, reference):
            named = _named(target, reference.block_ids or ())
            return target, {key: block for key, block in named.items() if key not in target.free}
        if target.listed and not target.rule.enabled and reference.honor_enabled:
            return target, {}
        group = reference.group
        blocks: Mapping[str, Block]
        if reference.block_ids is not None:
            blocks = {
                key: block
                for key, block in _named(target, reference.block_ids).items()
                if group is None or getattr(block, "group", None) == group
            }
        else:
            blocks = target.free if group is None else self._grouped(target).get(group, {})
        if self._arrangement.unmoved:
            return target, blocks
        movable = self._arrangement.movable
        return target, {key: block for key, block in blocks.items() if movable(target.definition, block)}

    def _grouped(self, job: Job) -> Mapping[str, Mapping[str, Block]]:
        """The free blocks of each group: found once, as several references ask for some of many blocks."""
        if job.rule.id not in self._groups:
            groups = self._groups[job.rule.id] = {}
            for key, block in job.free.items():
                if not isinstance(block, NativeBlock) and block.group is not None:
                    groups.setdefault(block.group, {})[key] = block
        return self._groups[job.rule.id]

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

    def _roots(self) -> Iterator[tuple[Job, Mapping[str, Block]]]:
        """What comes out by itself, unless its position is off."""
        for rule in self._strategy.rules:
            job = self._resolution.by_rule.get(rule.id) if rule.enabled else None
            if job is None:
                continue
            if not self._arrangement.saved:
                yield job, job.free
                continue
            yield (
                job,
                {
                    key: block
                    for key, block in job.free.items()
                    if self._arrangement.included(job.definition, block)
                },
            )

    def _settle(self) -> None:
        roots = self.roots
        if self._strategy.adaptive:
            # the spine comes first: no text elsewhere in the list can take the conversation out of it
            roots = sorted(roots, key=lambda root: not root[0].definition.slot_owner)
        references: list[tuple[Job, str, ReferenceBlock]] = []
        for job, blocks in roots:
            for key, block in job.holding.items():
                if key in blocks:
                    self._contents(job, key, block)
                    if isinstance(block, ReferenceBlock):
                        references.append((job, key, block))
        for job, key, reference in references:
            self._references(job, key, reference, ())

    def _contents(self, job: Job, key: str, block: Block) -> None:
        """What texts contain: of this block, and of all that it refers to."""
        if key in self._seen:
            return
        self._seen.add(key)
        if isinstance(block, ReferenceBlock):
            target, blocks = self.targets(key, block)
            if target is not None:
                for inner, held in target.holding.items():
                    if inner in blocks:
                        self._contents(target, inner, held)
        elif isinstance(block, TextBlock):
            for source_id, block_id in block.claims:
                claimed = self._resolution.by_kind.get(source_id)
                if claimed is not None:
                    self._claim(claimed.key(block_id), key)
            for use in self.uses(key, job, block):
                if self.expands(use.macro):
                    self._claim(use.macro.key, key)

    def _claim(self, wanted: str, key: str) -> None:
        """What a text contains is its own, unless it is itself within that: then neither would come out."""
        holder: str | None = key
        while holder is not None:
            if holder == wanted:
                return
            holder = self.owners.get(holder)
        self.owners.setdefault(wanted, key)

    def _references(self, job: Job, key: str, reference: ReferenceBlock, around: tuple[str, ...]) -> None:
        if key in around:
            raise source_invalid(
                f"References of {job.rule.kind} run in a circle.",
                "SOURCE_REFERENCE_CYCLE",
                source_id=job.rule.kind,
            )
        target, blocks = self.targets(key, reference)
        for inner, block in blocks.items():
            if isinstance(block, ReferenceBlock):
                assert target is not None  # else there are no blocks
                self._references(target, inner, block, (*around, key))
            elif isinstance(block, NativeBlock):
                self._referred[inner] = block
            self.owners.setdefault(inner, key)


def _named(target: Job, ids: Sequence[str]) -> Mapping[str, Block]:
    """The blocks of these ids, in the order in which they were handed in."""
    wanted = set(map(target.key, ids))
    return {key: block for key, block in target.blocks.items() if key in wanted}
