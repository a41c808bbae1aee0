"""The advanced history filter: a copy of the request without what the policy leaves out.

Nothing durable changes. What belongs to the current step, to a tool transaction or to a reply that the
provider wants back as it came is kept, and the audit says why. Source: assembler spec 7 and 11.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from engine.assembler.faults import note, refuse
from engine.assembler.fragments import passages, utf16_offset, without
from engine.assembler.history_policy import HistoryPolicy
from engine.codec import JsonObject
from engine.session import Message

__all__ = ["Filtered", "filter_history"]

_REPLAY_FORMATS: Final = frozenset({"deepseek-messages"})
"""Replay states whose text may change as long as their blocks stay."""

_KNOWN = ("user", "model")
"""Kinds that a policy need not name: what people and the model say."""


@dataclass(frozen=True, slots=True)
class Filtered:
    """The messages that are left, a decision about each one, and warnings for whoever wrote the policy."""

    messages: tuple[Message, ...]
    decisions: tuple[JsonObject, ...]
    warnings: tuple[JsonObject, ...]
    can_omit_reasoning: bool


@dataclass(slots=True)
class _Verdict:
    message: Message | None
    reasons: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    blocks: list[JsonObject] = field(default_factory=list)

    @property
    def action(self) -> str:
        if self.message is None:
            return "exclude"
        return "edit" if self.blocks else "keep"

    def keep(self, reason: str, *, warn: bool = False) -> _Verdict:
        self.reasons.append(reason)
        if warn:
            self.warnings.append(reason)
        return self


def filter_history(
    messages: Sequence[Message],
    seqs: Mapping[str, int],
    policy: HistoryPolicy,
    *,
    step_seq: int | None = None,
    omit_reasoning: bool = False,
) -> Filtered:
    """Apply the policy. `seqs` are the log positions by message id; what has none, or one from `step_seq` on,
    is of the current step. `omit_reasoning` says that the provider's contract allows it.

    Raises AssemblyError HISTORY_POLICY_EMPTY when nothing would be left.
    """
    may_omit = omit_reasoning and not any(_has_tools(message) for message in messages)
    systems = [message["id"] for message in messages if message["role"] == "system"]
    judge = _Judge(policy, may_omit, systems[-1] if systems else None)
    kept: list[Message] = []
    decisions: list[JsonObject] = []
    warnings: list[JsonObject] = []
    for message in messages:
        seq = seqs.get(message["id"])
        current = seq is None or (step_seq is not None and seq >= step_seq)
        verdict = judge.verdict(message, current=current)
        if verdict.message is not None:
            kept.append(verdict.message)
        decisions.append(
            {
                "messageId": message["id"],
                "seq": seq,
                "sourceKind": _kind(message),
                "action": verdict.action,
                "reasons": verdict.reasons,
                "blocks": verdict.blocks,
            }
        )
        warnings += [note(code, messageId=message["id"], seq=seq) for code in verdict.warnings]
    if messages and not kept:
        raise refuse("HISTORY_POLICY_EMPTY", "The history policy would leave nothing of the request.")
    return Filtered(tuple(kept), tuple(decisions), tuple(warnings), may_omit)


class _Judge:
    def __init__(self, policy: HistoryPolicy, may_omit: bool, system_id: str | None) -> None:
        self._policy = policy
        self._may_omit = may_omit
        self._system_id = system_id

    def verdict(self, message: Message, *, current: bool) -> _Verdict:
        verdict = _Verdict(message)
        if not self._policy.enabled:
            return verdict
        if current:
            return verdict.keep("CURRENT_OR_ASSEMBLED_CONTENT")
        if message["role"] in ("tool", "developer") or _has_tools(message) or _replay(message) == "unknown":
            return verdict.keep("PROTECTED_PROTOCOL_MESSAGE")
        kind = _kind(message)
        if self._policy.excludes(kind):
            return self._excluded(message, verdict)
        if message["role"] == "system":
            return verdict.keep("PROTECTED_PROTOCOL_MESSAGE")
        if kind not in _KNOWN and kind not in self._policy.sources:
            verdict.keep("UNKNOWN_SOURCE_RETAINED", warn=True)
        self._content(message, verdict)
        return verdict

    def _excluded(self, message: Message, verdict: _Verdict) -> _Verdict:
        if message["role"] == "system" and message["id"] == self._system_id:
            return verdict.keep("CURRENT_SYSTEM_PROMPT")
        if _replay(message) is not None:
            return verdict.keep("SOURCE_REPLAY_RETAINED", warn=True)
        if not self._may_omit and any(block["type"] == "reasoning" for block in message["content"]):
            return verdict.keep("SOURCE_REQUIRED_REASONING_RETAINED", warn=True)
        verdict.message = None
        return verdict.keep("SOURCE_EXCLUDED")

    def _content(self, message: Message, verdict: _Verdict) -> None:
        replayed = _replay(message) is not None
        content: list[Any] = []
        for index, block in enumerate(message["content"]):
            if self._goes(block, verdict, replayed=replayed):
                verdict.blocks.append({"index": index, "type": block["type"], "action": "exclude"})
                continue
            if message["role"] == "assistant" and block["type"] == "text":
                block = self._cut(block, index, _kind(message), verdict, replayed=replayed)
            if block is not None:
                content.append(block)
        if not verdict.blocks:
            return
        if not content:
            verdict.message = None
            verdict.keep("EMPTY_AFTER_FILTER")
        else:
            verdict.message = {**message, "content": tuple(content)}

    def _goes(self, block: JsonObject, verdict: _Verdict, *, replayed: bool) -> bool:
        stays = {"text": self._policy.text, "image": self._policy.image, "reasoning": self._policy.reasoning}
        if stays.get(block["type"], True):
            return False
        if block["type"] == "reasoning" and not self._may_omit:
            _once(verdict, "REASONING_REQUIRED_OR_UNVERIFIED")
            return False
        if replayed:
            _once(verdict, "REPLAY_BLOCKS_RETAINED")
            return False
        return True

    def _cut(
        self, block: JsonObject, index: int, kind: str, verdict: _Verdict, *, replayed: bool
    ) -> JsonObject | None:
        rules = [rule for rule in self._policy.fragments if rule.enabled and rule.source_kind == kind]
        text = block["text"]
        cuts, reasons = passages(text, rules)
        for reason in reasons:
            _once(verdict, reason)
        if not cuts:
            return block
        ranges = [
            {
                "start": utf16_offset(text, cut.start),
                "end": utf16_offset(text, cut.end),
                "ruleIds": list(cut.rule_ids),
            }
            for cut in cuts
        ]
        verdict.blocks.append({"index": index, "type": "text", "action": "edit", "ranges": ranges})
        rest = without(text, cuts)
        return {**block, "text": rest} if rest or replayed else None


def _once(verdict: _Verdict, reason: str) -> None:
    if reason not in verdict.reasons:
        verdict.keep(reason, warn=True)


def _replay(message: Message) -> str | None:
    """ "known", "unknown", or None when the provider wants nothing of it back."""
    state = message.get("source", {}).get("replayState")
    if state is None:
        return None
    response = state.get("response") if isinstance(state, Mapping) else None
    known = isinstance(response, Mapping) and response.get("kind") in _REPLAY_FORMATS
    blocks = state.get("blocks") if isinstance(state, Mapping) else None
    whole = isinstance(blocks, (list, tuple)) and len(blocks) == len(message["content"])
    return "known" if known and whole else "unknown"


def _has_tools(message: Message) -> bool:
    return message["role"] == "tool" or any(
        isinstance(block, Mapping) and block.get("type") == "tool-call" for block in message["content"]
    )


def _kind(message: Message) -> str:
    return str(message.get("source", {}).get("kind", ""))
