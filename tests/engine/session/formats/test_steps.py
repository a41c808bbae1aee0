"""Each step of the migration chain: what it changes, and what it refuses to guess."""

from typing import Any

import pytest

from engine.errors import FormatUnsupported, SessionCorrupt
from engine.session.formats import Log, migrate
from tests.engine.session.formats.rows import (
    APPEND,
    END,
    START,
    STEP,
    answer,
    chunk,
    header,
    log,
    prompt,
    request,
    user,
)


def types(found: Log) -> list[str]:
    return [event["type"] for event in found.events]


def of_type(found: Log, kind: str) -> list[Any]:
    return [event for event in found.events if event["type"] == kind]


# -- format 0 ---------------------------------------------------------------------------------------


def test_early_spellings_become_the_ones_that_stayed() -> None:
    rows = log(
        ("turn/start", {"turn": 1, "trigger": {"kind": "user"}}),
        ("step/start", STEP),
        ("steering/message", {"turn": 1, "content": [], "source": {"kind": "user"}}, APPEND),
        ("compact/start", {"turn": 1}),
        ("compact/end", {"turn": 1, "error": "no"}),
        ("step/end", STEP),
        ("turn/end", {"turn": 1, "reason": {"kind": "disposed"}}),
    )

    found = migrate(header(0), rows)

    assert types(found) == [
        "turn/start",
        "step/start",
        "system/message",
        "user/message",
        "compaction/start",
        "compaction/end",
        "step/end",
        "turn/end",
    ]
    assert found.events[0]["data"] == {"turn": 1}
    assert of_type(found, "user/message")[0]["data"]["id"] == "legacy-message:s:2"
    assert of_type(found, "compaction/end")[0]["data"]["compactionId"] == "legacy-compaction:s:3"
    assert found.events[-1]["data"]["reason"] == {"kind": "aborted", "reason": {"kind": "disposed"}}


@pytest.mark.parametrize(
    ("reason", "current"),
    [
        ({"kind": "completed"}, {"kind": "completed"}),
        ({"kind": "aborted"}, {"kind": "aborted", "reason": {"kind": "legacy"}}),
        (
            {"kind": "error", "step": 1, "message": "no"},
            {"kind": "error", "error": {"message": "no", "code": "UNKNOWN"}},
        ),
        (
            {"kind": "error", "step": 1, "failure": {"message": "no", "code": "AUTH"}},
            {"kind": "error", "error": {"message": "no", "code": "AUTH"}},
        ),
    ],
)
def test_the_reasons_of_a_turns_end(reason: dict[str, Any], current: dict[str, Any]) -> None:
    rows = log(("turn/start", {"turn": 1}), ("turn/end", {"turn": 1, "reason": reason}))

    assert migrate(header(0), rows).events[1]["data"]["reason"] == current


def test_bare_results_get_the_message_that_they_lacked_and_keep_its_id_when_rewritten() -> None:
    bare = {**STEP, "callId": "c1", "isError": False}
    call = {"type": "tool-call", "id": "c1", "name": "dice", "arguments": "{}"}
    model = {"provider": "p", "model": "m"}
    rows = log(
        *START,
        ("assistant/message", {**STEP, "content": [call], "provenance": model}, APPEND),
        ("tool/call", {**STEP, "callId": "c1", "name": "dice", "arguments": "{}"}),
        ("tool/result", {**bare, "content": [{"type": "text", "text": "long"}]}, APPEND),
        (
            "tool/result",
            {**bare, "content": []},
            {"surfaceOp": {"op": "replace", "start": 4, "end": 4}, "sourceEventSeqs": [4]},
        ),
        *END,
    )

    found = migrate(header(0), rows)

    result, rewrite = of_type(found, "tool/result")
    assert result["data"]["message"] == {
        "id": "legacy-message:s:4",
        "role": "tool",
        "toolCallId": "c1",
        "isError": False,
        "source": {"kind": "tool", "callId": "c1"},
        "content": [{"type": "text", "text": "long"}],
    }
    assert rewrite["data"]["message"]["id"] == "legacy-message:s:4"
    assert rewrite["surfaceOp"] == {"op": "replace", "startSeq": result["seq"], "endSeq": result["seq"]}
    assert of_type(found, "assistant/message")[0]["data"]["message"]["source"] == {"kind": "model", **model}


@pytest.mark.parametrize("kind", ["request/header-delta", "mode/set", "tavern/mvu"])
def test_what_nothing_later_stands_for_is_unsupported(kind: str) -> None:
    with pytest.raises(FormatUnsupported):
        migrate(header(0), log((kind, {})))


# -- format 1 ---------------------------------------------------------------------------------------


def test_a_message_takes_over_the_chunks_that_it_cites() -> None:
    cited = {**APPEND, "sourceEventSeqs": [2, 3]}
    rows = log(*START, chunk("He"), chunk("llo"), ("assistant/message", answer("a", "Hello"), cited), *END)

    found = migrate(header(1), rows)

    assert types(found) == [
        "turn/start",
        "step/start",
        "system/message",
        "assistant/message",
        "step/end",
        "turn/end",
    ]
    message = found.events[3]
    assert message["data"]["stream"] == [
        {"type": "text-chunks", "time0": 102, "index": 0, "dt": [1], "texts": ["He", "llo"]}
    ]
    assert "sourceEventSeqs" not in message


def test_packed_rows_are_unpacked_first() -> None:
    packed = {"type": "text-chunks", "seq0": 2, "time0": 102}
    packed["data"] = {**STEP, "index": 0, "dt": [7], "texts": ["He", "llo"]}
    rows = [
        *log(*START),
        packed,
        {
            "type": "assistant/message",
            "seq": 4,
            "time": 110,
            "data": answer("a", "Hello"),
            "surfaceOp": "append",
            "sourceEventSeqs": [[2, 3]],
        },
    ]

    stream = of_type(migrate(header(1), rows), "assistant/message")[0]["data"]["stream"]

    assert stream == [{"type": "text-chunks", "time0": 102, "index": 0, "dt": [7], "texts": ["He", "llo"]}]


def test_chunks_that_no_message_cites_become_an_attempt_where_they_ended() -> None:
    rows = log(*START, chunk("He"), ("hook/invoked", {}), *END)

    found = migrate(header(1), rows)

    assert types(found) == [
        "turn/start",
        "step/start",
        "system/message",
        "assistant/attempt",
        "hook/invoked",
        "step/end",
        "turn/end",
    ]
    assert found.events[3]["time"] == 102


def test_a_second_stream_of_a_step_is_another_attempt() -> None:
    finish = ("assistant/chunk", {**STEP, "chunk": {"type": "finish", "reason": {"kind": "error"}}})
    rows = log(
        *START,
        chunk("no"),
        finish,
        chunk("yes"),
        ("assistant/message", answer("a", "yes"), {**APPEND, "sourceEventSeqs": [4]}),
        *END,
    )

    found = migrate(header(1), rows)

    assert [event["type"] for event in found.events[3:5]] == ["assistant/attempt", "assistant/message"]


def test_a_message_must_cite_its_whole_stream() -> None:
    cited = {**APPEND, "sourceEventSeqs": [3]}

    with pytest.raises(FormatUnsupported):
        migrate(
            header(1), log(*START, chunk("He"), chunk("llo"), ("assistant/message", answer("a"), cited), *END)
        )


def test_a_reference_to_a_chunk_is_not_redirected() -> None:
    rows = log(*START, chunk("He"), ("user/message", user("u"), {**APPEND, "sourceEventSeqs": [2]}), *END)

    with pytest.raises(FormatUnsupported):
        migrate(header(1), rows)


def test_a_fork_gets_the_marker_of_its_cut() -> None:
    turn = (("turn/start", {"turn": 1}), ("turn/end", {"turn": 1, "reason": {"kind": "completed"}}))

    whole = migrate(header(1, seedLength=2), log(*turn))
    marked = migrate(header(1, seedLength=2), log(*turn, ("session/end-seed", {}), ("hook/invoked", {})))
    unmarked = migrate(header(1, seedLength=2), log(*turn, ("hook/invoked", {})))

    for found in (whole, marked, unmarked):
        assert found.inherited == 2
        assert found.header["isSeeded"] is True
        assert found.events[2]["data"] == {"inherited": True}
    assert [len(found.events) for found in (whole, marked, unmarked)] == [3, 4, 4]


def test_a_turn_that_a_restart_left_open_is_ended() -> None:
    queued = {"target": "next-turn", "start": 0, "inserted": [user("u")]}
    rows = log(("turn/start", {"turn": 1}), ("agent/inbox/spliced", queued), ("turn/start", {"turn": 2}))

    found = migrate(header(1), rows)

    assert types(found) == ["turn/start", "agent/inbox/spliced", "turn/end", "turn/start"]
    assert found.events[2]["data"] == {"turn": 1, "reason": {"kind": "interrupted"}}


# -- format 2 ---------------------------------------------------------------------------------------


def test_the_prompt_leaves_the_header_and_references_move_along() -> None:
    rows = log(
        *START,
        request("You are Ada."),
        ("user/message", user("u1"), APPEND),
        (
            "user/message",
            user("sum"),
            {"surfaceOp": {"op": "replace", "start": 3, "end": 3}, "sourceEventSeqs": [3]},
        ),
        ("session/title", {"title": "T", "messageSeqs": [3], "source": {"kind": "model"}}),
        *END,
    )

    found = migrate(header(2), rows)

    assert types(found)[2:6] == ["system/message", "system/message", "request/header", "user/message"]
    assert "system" not in of_type(found, "request/header")[0]["data"]["header"]
    assert found.events[6]["surfaceOp"] == {"op": "replace", "startSeq": 5, "endSeq": 5}
    assert found.events[6]["sourceEventSeqs"] == [5]
    assert found.events[7]["data"]["messageSeqs"] == [5]


def test_the_same_prompt_is_said_once_and_an_emptied_one_replaces_it() -> None:
    found = migrate(header(2), log(*START, request("P"), request("P"), request(""), *END))

    heads = of_type(found, "system/message")
    assert [[block["text"] for block in head["data"]["message"]["content"]] for head in heads] == [
        [],
        ["P"],
        [],
    ]
    assert len({head["data"]["message"]["id"] for head in heads}) == 3


def test_two_migrations_of_one_log_agree() -> None:
    rows = log(*START, request("P"), *END)

    assert migrate(header(2), rows) == migrate(header(2), rows)


@pytest.mark.parametrize(
    "rows",
    [
        log(("user/message", user("u"), APPEND)),
        log(("turn/start", {"turn": 1}), request("P")),
    ],
    ids=["a message before the first step", "a prompt outside a step"],
)
def test_what_would_change_the_order_of_things_is_unsupported(rows: list[Any]) -> None:
    with pytest.raises(FormatUnsupported):
        migrate(header(2), rows)


def test_code_mode_got_another_name() -> None:
    rows = log(
        *START,
        ("tool/code-dispatch-start", {}),
        ("tool/code-dispatch", {}),
        ("agent-preset/selected", {"agentPreset": "code"}),
        ("user/message", user("u", kind="plugin", plugin="tools-code-mode"), APPEND),
        *END,
    )

    found = migrate(header(2, agentPreset="code"), rows)

    assert types(found)[3:5] == ["tool/ptc-dispatch-start", "tool/ptc-dispatch"]
    assert found.events[5]["data"] == {"agentPreset": "ptc"}
    assert found.events[6]["data"]["source"] == {"kind": "plugin:tools-ptc"}
    assert found.header["agentPreset"] == "ptc"


def test_the_cut_of_a_fork_moves_with_its_marker() -> None:
    rows = log(*START, *END, ("session/end-seed", {"inherited": True}))

    found = migrate(header(2, isSeeded=True), rows)

    assert found.inherited == 5
    assert found.events[5]["type"] == "session/end-seed"


# -- format 3 ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("plugin", "kind"),
    [
        ("compact", "compact-checkpoint"),
        ("@deepseek-ai/dsh-system-prompt", "runtime-context"),
        ("tavern", "plugin:tavern"),
    ],
)
def test_a_source_names_its_producer(plugin: str, kind: str) -> None:
    said = user("u", kind="plugin", plugin=plugin, form="notice")
    rows = log(*START, ("system/message", prompt("sy"), APPEND), ("user/message", said, APPEND), *END)

    assert migrate(header(3), rows).events[3]["data"]["source"] == {"kind": kind, "form": "notice"}


def test_messages_that_wait_in_the_inbox_change_too() -> None:
    queued = {"target": "next-turn", "start": 0, "inserted": [user("u", kind="plugin", plugin="x")]}

    found = migrate(header(3), log(("agent/inbox/spliced", queued)))

    assert found.events[0]["data"]["inserted"][0]["source"] == {"kind": "plugin:x"}


def test_a_block_of_an_unknown_type_says_whose_it_is() -> None:
    said = {**user("u"), "content": [{"type": "poll", "n": 1}, {"type": "text", "text": "x"}]}
    rows = log(*START, ("user/message", said, APPEND), *END)

    content = migrate(header(3), rows).events[2]["data"]["content"]

    assert content == [{"type": "plugin:poll", "n": 1}, {"type": "text", "text": "x"}]


def test_a_result_must_wrap_one_block() -> None:
    message = {"id": "r", "role": "user", "source": {"kind": "tool", "callId": "c"}, "content": []}

    with pytest.raises(SessionCorrupt):
        migrate(header(3), log(*START, ("tool/result", {**STEP, "message": message}, APPEND)))


# -- any format -------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", [5, 99, -1])
def test_no_way_leads_from_an_unknown_version(version: int) -> None:
    with pytest.raises(FormatUnsupported) as caught:
        migrate(header(4) | {"version": version}, [])

    assert caught.value.data["category"] == "format-version"


@pytest.mark.parametrize("version", [0, 1, 2, 3])
@pytest.mark.parametrize(
    "rows",
    [
        [{"type": "turn/start", "seq": 1, "time": 0, "data": {"turn": 1}}],
        [{"type": "turn/start"}],
        [{"type": "user/message", "seq": 0, "time": 0, "data": None, "surfaceOp": "append"}],
        ["row"],
    ],
    ids=["gap", "no seq", "no data", "no object"],
)
def test_a_malformed_log_is_corrupt_and_never_a_crash(version: int, rows: list[Any]) -> None:
    with pytest.raises((SessionCorrupt, FormatUnsupported)):
        migrate(header(version), rows)


def test_what_was_given_is_left_as_it_is() -> None:
    rows = log(*START, request("P"), ("user/message", user("u", kind="plugin", plugin="x"), APPEND), *END)
    given = header(2)
    before = (repr(given), repr(rows))

    migrate(given, rows)

    assert (repr(given), repr(rows)) == before
