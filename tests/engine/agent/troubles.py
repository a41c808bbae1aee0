"""What may happen to agents in a random run, as strategies."""

from __future__ import annotations

from hypothesis import strategies as st

from engine.cancel import CancelCause
from tests.engine.agent.process import Answer

__all__ = ["answers", "causes", "deeds", "moments", "numbers", "plans", "queues"]

# Which of several: of few enough numbers that every one comes up.
numbers = st.integers(0, 11)
queues = st.sampled_from(["next-turn", "next-step"])
causes = st.sampled_from([CancelCause("user"), CancelCause("hook", "why not")])

_texts = st.sampled_from(["yes", "a long look", "門が開く", "on and on " * 40])
_calls = st.sampled_from(
    [
        ("call", "look", "{}"),
        ("call", "look", ""),
        ("call", "dig", '{"deep": true}'),
        ("call", "dig", "{}"),
        ("call", "fall", "{}"),
        ("call", "leave", "{}"),
        ("call", "fly", "{"),
    ]
)
_waiting = st.just(("wait",))
_parts = st.one_of(st.tuples(st.sampled_from(["text", "reasoning"]), _texts), _calls, _waiting, _waiting)
_healed = st.sampled_from(["SERVER", "RATE_LIMIT", "TIMEOUT", "truncate"])  # by time: tried again
_final = st.sampled_from(["AUTH", "CONTEXT_WINDOW_EXCEEDED", "raise"])
_good = st.sampled_from(["stop", "tool-calls", "max-tokens"])

answers = st.builds(
    Answer,
    st.lists(_parts, min_size=1, max_size=4).map(tuple),
    st.one_of(_good, _good, _healed, _final),
    st.booleans(),
)
_all_calls = st.lists(_calls, min_size=1, max_size=4).map(lambda calls: Answer(tuple(calls), "tool-calls"))
_failures = st.builds(
    lambda text, code, half: Answer((("text", text), ("wait",)), code, half),
    _texts,
    st.one_of(_healed, _final),
    st.booleans(),
)
plans = st.one_of(
    answers.map(lambda answer: [answer]),
    _all_calls.map(lambda answer: [answer]),
    st.tuples(_failures, st.integers(1, 7)).map(lambda drawn: [drawn[0]] * drawn[1]),
    st.just([Answer((("call", "look", "{}"),), "tool-calls")] * 17),  # a model that calls for ever
)

_HOOKS = {
    "system-prompt/assemble": ("raise", "wait"),
    "agent/pre-step": ("raise", "wait", "reject", "series"),
    "agent/request": ("raise", "wait"),
    "agent/request-error": ("raise", "wait"),
    "agent/assemble-request": ("raise", "wait", "assemble"),
    "agent/turn-stopping": ("raise", "wait"),
    "agent/created": ("raise", "wait"),
    "tools/pre-execute": ("raise", "wait"),
    "tools/post-execute": ("raise", "wait"),
    "llm/stream": ("raise", "break"),
}
deeds = st.sampled_from([(hook, deed) for hook, known in _HOOKS.items() for deed in known])

moments = st.sampled_from(
    [
        "agent/inbox/spliced",
        "assistant/attempt",
        "assistant/message",
        "llm/retry",
        "request/header",
        "step/end",
        "step/start",
        "tool/call",
        "tool/result",
        "turn/end",
        "turn/start",
        "user/message",
    ]
)
