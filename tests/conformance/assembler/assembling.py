"""Assemblies: `assemble`, `core`, `native`, `sequence`, `insertionIndex`."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from engine.assembler import (
    AssemblyRequest,
    Logical,
    OfficialPart,
    PreStep,
    StandardOutcome,
    assemble,
    deliver_standard,
    insertion_index,
    project_system,
    resolve_sources,
)
from tests.conformance.assembler import given as take
from tests.conformance.assembler.documents import normalize_policy, settle, validate_native
from tests.conformance.assembler.outcome import (
    agree_logical,
    message,
    must_refuse,
    refused,
)
from tests.conformance.compare import agree
from tests.conformance.vectors import Vector


def run(vector: Vector) -> None:
    """By the vector's operation."""
    runners = {
        "assemble": _assemble,
        "core": _core,
        "native": _native,
        "sequence": _sequence,
        "insertionIndex": _index,
        "validateNative": validate_native,
        "normalizeHistoryPolicy": normalize_policy,
    }
    expected = vector.body["expect"]
    runner = runners[vector.body["op"]]
    if "error" not in expected or runner in (_index, validate_native, normalize_policy):
        runner(vector)
        return
    try:
        runner(vector)
    except KeyError as missing:  # the recording has no result to compare with
        raise must_refuse(vector.name) from missing
    except Exception as error:
        refused(expected["error"], error)
        return
    raise must_refuse(vector.name)


def _logical(given: Mapping[str, Any], request: AssemblyRequest) -> Logical:
    async def work() -> Logical:
        strategy = take.strategy(given["preset"])
        resolution = await resolve_sources(request, strategy, take.sources(given).capture())
        return assemble(request, resolution, take.ALGORITHMS)

    return asyncio.run(work())


def _assemble(vector: Vector) -> None:
    given = vector.body["input"]
    logical = _logical(given, take.request(given))
    agree_logical("", vector.body["expect"], logical)


def _core(vector: Vector) -> None:
    given, expected = vector.body["input"], vector.body["expect"]
    request = take.request(given)
    logical = _logical(given, request)
    more = {"max_bytes": given["maxProjectedBytes"]} if "maxProjectedBytes" in given else {}
    projection = project_system(
        logical.messages,
        {"kind": "dsh-prompt-assembler"},
        in_history=given.get("systemPromptUpdate") == "in-history",
        preview=request.preview,
        **more,
    )
    diagnostics = (*logical.diagnostics, *projection.diagnostics)
    agree_logical("", expected, replace(logical, diagnostics=diagnostics), projection)
    native = {it["id"]: it for it in request.native}
    sent = [
        message(native[it["id"]], it["role"], "")
        if it["id"] in native
        else message(None, it["role"], it["content"][0]["text"])
        for it in projection.messages
    ]
    agree("messages", expected["messages"], sent)
    carriers = [
        {
            "index": it.index,
            "inputs": list(it.inputs),
            "contributors": list(it.contributors),
            "replacedNativeIds": list(it.replaced_native_ids),
            "carrierIsOriginal": it.original,
        }
        for it in projection.carriers
    ]
    agree("capability", expected["systemProjection"]["capability"], projection.capability)
    agree("carriers", expected["systemProjection"]["messages"], carriers)


def _native(vector: Vector) -> None:
    given, expected = vector.body["input"], vector.body["expect"]
    inputs = given["inputs"]
    request = take.request(
        given,
        native=(*given["history"], *inputs),
        input_ids=frozenset(it["id"] for it in inputs),
    )
    outcome = asyncio.run(
        deliver_standard(
            request,
            take.strategy(given["preset"]),
            take.sources(given).capture(),
            sections=[OfficialPart(it["name"], it["text"]) for it in given.get("sections", ())],
            contexts=[OfficialPart(it["name"], it["text"]) for it in given.get("contexts", ())],
            algorithms=take.ALGORITHMS,
        )
    )
    agree_logical("", expected, outcome.logical)
    _agree_plan(expected["plan"], outcome)


def _agree_plan(plan: Mapping[str, Any], outcome: StandardOutcome) -> None:
    sections = [[_part(it["name"]), it["text"]] for it in plan["sections"]]
    agree("sections", sections, [[_part(it.name), it.text] for it in outcome.sections])
    # the reference hands a text over as the value of a variable, we as a literal one
    contexts = [
        [_part(it["name"]), it["text"] if it["value"] is None else it["value"]] for it in plan["contexts"]
    ]
    agree("contexts", contexts, [[_part(it.name), it.text] for it in outcome.contexts])
    agree("systemText", plan["systemText"], outcome.system_text)
    agree("beforeInput", plan["beforeInput"], [_pre_step(it) for it in outcome.before_input])
    agree("afterInput", plan["afterInput"], [_pre_step(it) for it in outcome.after_input])
    agree("reconcileSystem", plan["reconcileSystem"], outcome.reconcile_system)
    switches = [{"name": name, "enabled": stays} for name, stays in outcome.context_switches]
    agree("runtimeContextControls", plan["runtimeContextControls"], switches)


def _part(name: str) -> str:
    """The name without its plug-in's, which is our own."""
    plugin, mark, rest = name.partition(":part:")
    return f":part:{rest}" if mark else plugin


def _pre_step(it: PreStep) -> dict[str, Any]:
    return {"role": "user", "text": it.text, "source": dict(it.source)}


def _sequence(vector: Vector) -> None:
    given = vector.body["input"]
    previous: Logical | None = None
    for number, (step, expected) in enumerate(
        zip(given["steps"], vector.body["expect"]["steps"], strict=True)
    ):
        now = {**given, **step}
        carried = {}
        if previous is not None:
            carried = {"retained": previous.retained, "previous": previous.texts()}
        previous = _logical(now, take.request(now, **carried))
        agree_logical(f"step {number} ", expected, previous)
        agree(f"step {number} snapshots", expected["snapshots"], _snapshots(now, previous))


def _snapshots(given: Mapping[str, Any], logical: Logical) -> list[dict[str, Any]]:
    names: dict[str | None, str | None] = {it["id"]: it["id"] for it in given["nativeMessages"]}
    names[None] = None
    names |= {it.id: f"node:{it.node_id}" for it in logical.messages if it.native is None}
    return [
        {
            "id": it.node_id,
            "ruleId": it.rule_id,
            "name": it.name,
            "depth": it.depth,
            "empty": it.hash == "empty",
            "text": it.text,
            "after": names.get(it.after_id, "<other>"),
            "nativeAfterId": it.native_after_id,
        }
        for it in logical.retained
    ]


def _index(vector: Vector) -> None:
    given = vector.body["input"]
    settle(vector, lambda: {"index": insertion_index(given["messages"], given["depth"])})
