"""Asking the sources: which are needed, in which order, and what they handed in.

The only part of an assembly that may wait. Sources are asked one after the other: the order decides what
random macros and diagnostics come out. Source: assembler spec 2.2, 2.4.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from engine.assembler.blocks import Block, Output, TextBlock, checked_output
from engine.assembler.definition import Definition
from engine.assembler.faults import Remarks, blaming, source_invalid
from engine.assembler.request import AssemblyRequest, SourceContext
from engine.assembler.strategy import Lifetime, Role, Rule, Strategy
from engine.cancel import CancelToken
from engine.codec import JsonObject
from engine.errors import AssemblyError

__all__ = ["CONTEXT_SWITCHES", "Job", "Macro", "Resolution", "check_rule", "check_rules", "resolve_sources"]

CONTEXT_SWITCHES: Mapping[str, tuple[str, ...]] = {
    "dsh.runtime-context": ("sandbox:policy", "approval:policy", "subagent:delegation"),
    "dsh.sandbox-policy": ("sandbox:policy",),
    "dsh.approval-policy": ("approval:policy",),
}
"""Rules that only switch official facts on or off, by their exact names; no source stands behind them."""


@dataclass(slots=True, eq=False)
class Job:
    """What one source handed in for one rule, never changed. `listed` is False for a rule that only a
    dependency made.

    Blocks are known by keys, their identities in this assembly, which are stable from request to request.
    `free` ones come out by themselves, and not only where a reference names them. In `holding` ones others
    may stand: they are references, or texts that claim something or name it.
    """

    rule: Rule
    definition: Definition
    listed: bool
    blocks: Mapping[str, Block]
    free: Mapping[str, Block]
    holding: Mapping[str, Block]

    @classmethod
    def of(cls, rule: Rule, definition: Definition, output: Output, *, listed: bool) -> Job:
        """A source's answer to a rule."""
        blocks: dict[str, Block] = {}
        holding: dict[str, Block] = {}
        named: set[str] = set()
        for block in output.blocks:
            key = f"{rule.id}:{block.id}"
            blocks[key] = block
            if not isinstance(block, TextBlock):
                holding[key] = block
                continue
            if block.reference_only:
                named.add(key)
            if block.claims or "{" in block.text:
                holding[key] = block
        free = {key: block for key, block in blocks.items() if key not in named} if named else blocks
        return cls(rule, definition, listed, blocks, free, holding)

    def key(self, block_id: str) -> str:
        """The key of a block of this id."""
        return f"{self.rule.id}:{block_id}"


@dataclass(frozen=True, slots=True)
class Macro:
    """A text block that other texts may insert by name."""

    key: str
    job: Job
    block: TextBlock


@dataclass(frozen=True, slots=True)
class Resolution:
    """What all sources handed in. `by_kind` is the job that a reference to a source means."""

    context: SourceContext
    jobs: tuple[Job, ...]
    by_kind: Mapping[str, Job]
    by_rule: Mapping[str, Job]
    macros: Mapping[str, Macro]
    registered: Mapping[str, Definition]
    diagnostics: tuple[JsonObject, ...]


def check_rules(strategy: Strategy, registered: Mapping[str, Definition]) -> None:
    """Whether the sources can do what the rules ask that are switched on, as far as can be told without
    asking them. Raises AssemblyError SOURCE_RULE_UNSUPPORTED, SOURCE_RULE_DUPLICATE and others, which
    `resolve_sources` would raise too."""
    modules: set[str] = set()
    for rule in strategy.rules:
        definition = registered.get(rule.kind)
        if definition is None or not rule.enabled or rule.kind in CONTEXT_SWITCHES:
            continue
        check_rule(rule, definition)
        if rule.input_mode == "text":
            continue
        if not definition.multiple and rule.kind in modules:
            raise _twice(rule, definition)
        modules.add(rule.kind)


def check_rule(rule: Rule, definition: Definition) -> None:
    """The same of one rule, whatever other rules there are."""
    if (
        rule.role not in definition.roles
        or rule.lifetime not in definition.lifetimes
        or (rule.depth is not None and not definition.depth)
    ):
        raise source_invalid(
            f"{definition.name} ({rule.kind}) cannot have this role, retention or depth.",
            "SOURCE_RULE_UNSUPPORTED",
            status=409,
            rule_id=rule.id,
        )
    if rule.input_mode == "text":
        if definition.parse_text is None:
            raise source_invalid(
                f"{definition.name} ({rule.kind}) reads no text.",
                "SOURCE_WITHOUT_PARSER",
                status=409,
                rule_id=rule.id,
            )
    elif definition.resolve is None:
        raise source_invalid(
            f"{definition.name} ({rule.kind}) only reads text that is written for it.",
            "SOURCE_ONLY_PARSER",
            status=409,
            rule_id=rule.id,
        )


def _twice(rule: Rule, definition: Definition) -> AssemblyError:
    return source_invalid(
        f"{definition.name} ({rule.kind}) can stand in a strategy only once.",
        "SOURCE_RULE_DUPLICATE",
        status=409,
        rule_id=rule.id,
    )


async def resolve_sources(
    request: AssemblyRequest,
    strategy: Strategy,
    registered: Mapping[str, Definition],
    token: CancelToken | None = None,
) -> Resolution:
    """Ask what the strategy needs, out of a captured set of sources.

    Raises Cancelled when the token was cancelled meanwhile, AssemblyError for what a source may not do, and
    SOURCE_FAILED for whatever a source raised: nothing is sent with a part missing.
    """
    token = token or CancelToken()
    visit = _Visit(SourceContext.of(request, strategy, token), registered)
    for rule in strategy.rules:
        if rule.enabled and rule.kind not in CONTEXT_SWITCHES:
            await visit.rule(rule, listed=True)
    for job in visit.jobs:
        if job.definition.validate_resolved is not None:
            with blaming(job.definition.name, job.rule.kind):
                job.definition.validate_resolved(visit.context)
    token.check()
    return visit.resolution()


class _Visit:
    def __init__(self, context: SourceContext, registered: Mapping[str, Definition]) -> None:
        self.context = context
        self.jobs: list[Job] = []
        self._registered = registered
        self._remarks = Remarks()
        self._done: set[str] = set()
        self._open: list[str] = []
        self._modules: set[str] = set()
        self._by_kind: dict[str, Job] = {}
        self._absent: set[str] = set()
        self._macros: dict[str, Macro] = {}

    async def rule(self, rule: Rule, *, listed: bool) -> None:
        if rule.id in self._done:
            return
        definition = self._registered.get(rule.kind)
        if definition is None:
            self._done.add(rule.id)
            self._remarks.add("ASSEMBLY_SOURCE_UNAVAILABLE", sourceId=rule.kind, ruleId=rule.id)
            return
        if rule.kind in self._open:
            raise source_invalid(
                f"Sources depend on each other in a circle: {' → '.join([*self._open, rule.kind])}.",
                "SOURCE_CYCLE",
                source_id=rule.kind,
            )
        self._check(rule, definition)
        self._open.append(rule.kind)
        if rule.kind not in self._by_kind:  # else they were asked for with its first rule
            for dependency in definition.dependencies:
                if dependency not in self._by_kind and dependency not in self._absent:
                    await self._dependency(dependency)
        self._open.pop()
        self._done.add(rule.id)
        self._add(rule, definition, await self._ask(rule, definition), listed=listed)

    async def _dependency(self, kind: str) -> None:
        rules = [rule for rule in self.context.strategy.by_kind.get(kind, ()) if rule.input_mode is None]
        if rules:
            # a rule that is switched off resolves too: it may be referred to
            await self.rule(next((rule for rule in rules if rule.enabled), rules[0]), listed=True)
            return
        definition = self._registered.get(kind)
        if definition is None:
            self._absent.add(kind)
        await self.rule(self._implicit(kind, definition), listed=False)

    def _check(self, rule: Rule, definition: Definition) -> None:
        check_rule(rule, definition)
        if rule.input_mode == "text":
            return
        if not definition.multiple and rule.kind in self._modules:
            raise _twice(rule, definition)
        self._modules.add(rule.kind)

    async def _ask(self, rule: Rule, definition: Definition) -> Output:
        self.context.token.check()
        call = definition.parse_text if rule.input_mode == "text" else definition.resolve
        assert call is not None  # checked before
        with blaming(definition.name, rule.kind):
            answer: Any = call(self.context, rule)
            if not isinstance(answer, Output) and inspect.isawaitable(answer):
                answer = await self.context.token.race(answer)
                self.context.token.check()
        return checked_output(answer, rule.kind, definition.dependencies)

    def _add(self, rule: Rule, definition: Definition, output: Output, *, listed: bool) -> None:
        job = Job.of(rule, definition, output, listed=listed)
        self.jobs.append(job)
        if rule.input_mode is None:
            self._by_kind.setdefault(rule.kind, job)
        self._remarks.list += output.diagnostics
        for name, block_id in output.macros.items():
            key, folded = job.key(block_id), name.casefold()
            block = job.blocks.get(key)
            if not isinstance(block, TextBlock) or folded in self._macros:
                raise source_invalid(
                    f"The macro {name} of {rule.kind} names no text block, or its name is taken.",
                    "SOURCE_MACRO_INVALID",
                    macro=name,
                )
            self._macros[folded] = Macro(key, job, block)

    def _implicit(self, kind: str, definition: Definition | None) -> Rule:
        """The rule of a source that is only there for others."""
        roles: tuple[Any, ...] = tuple(definition.roles) if definition is not None else ("preserve",)
        lifetimes: tuple[Any, ...] = tuple(definition.lifetimes) if definition is not None else ("request",)
        role: Role = "preserve" if "preserve" in roles else roles[0]
        lifetime: Lifetime = "request" if "request" in lifetimes else lifetimes[0]
        rule_id = f"reference-{kind}"
        while any(rule.id == rule_id for rule in self.context.strategy.rules):
            rule_id += "_"
        return Rule(id=rule_id, kind=kind, enabled=False, role=role, lifetime=lifetime)

    def resolution(self) -> Resolution:
        return Resolution(
            context=self.context,
            jobs=tuple(self.jobs),
            by_kind=self._by_kind,
            by_rule={job.rule.id: job for job in self.jobs},
            macros=self._macros,
            registered=self._registered,
            diagnostics=tuple(self._remarks.list),
        )
