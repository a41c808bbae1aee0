"""What stands between the messages of the chat: depth, order, role, and the notes beside the main prompt."""

from hypothesis import given as over
from hypothesis import strategies as st

from engine.prompting import SILLYTAVERN, ChatLine, Extension, Quirk
from tests.engine.prompting.make import CHAT, in_chat, made, preset, prompt, sent, story

HEAD = ["s: Main.", "s: [Start a new Chat]"]


def test_a_low_order_stands_higher() -> None:
    given = preset(
        in_chat("x", "200", 1, injection_order=200),
        in_chat("y", "50", 1, injection_order=50),
        in_chat("z", "100", 1, injection_order=100),
    )

    assert sent(made(given))[-4:] == ["s: 50", "s: 100", "s: 200", "u: Fine"]


def test_of_one_order_the_assistant_comes_first_and_the_system_last() -> None:
    given = preset(
        in_chat("s", "S", 0), in_chat("u", "U", 0, role="user"), in_chat("a", "A", 0, role="assistant")
    )

    assert sent(made(given))[-4:] == ["u: Fine", "a: A", "u: U", "s: S"]


def test_what_is_deeper_than_the_chat_stands_on_top_of_it() -> None:
    given = preset(in_chat("x", "deep", 40), in_chat("y", "deeper", 41))

    assert sent(made(given))[:5] == [*HEAD, "s: deeper", "s: deep", "a: Hello traveller"]


def test_depth_counts_messages_from_the_end() -> None:
    given = preset(in_chat("x", "X", 4), in_chat("y", "Y", 3))

    assert sent(made(given)) == [
        *HEAD, "s: X", "a: Hello traveller", "s: Y", "u: Hi Alice", "a: How are you", "u: Fine",
    ]  # fmt: skip


def test_one_depth_order_and_role_make_one_message_the_presets_text_before_the_notes() -> None:
    given = preset(in_chat("x", " first ", 1), in_chat("y", "second", 1))
    notes = (
        Extension("b", "note b", depth=1),
        Extension("a", " note a ", depth=1),
        Extension("c", "of the user", depth=1, role="user"),
    )

    assert sent(made(given, story(extensions=notes)))[-3:] == [
        "u: of the user",
        "s: first \nsecond\nnote a\nnote b",
        "u: Fine",
    ]


def test_notes_have_the_order_100() -> None:
    given = preset(in_chat("x", "low", 0, injection_order=99), in_chat("y", "high", 0, injection_order=101))

    assert sent(made(given, story(extensions=(Extension("n", "note", depth=0),))))[-3:] == [
        "s: low", "s: note", "s: high",
    ]  # fmt: skip


def test_a_marker_may_be_in_the_chat_with_its_own_role() -> None:
    given = preset(
        changed={"charDescription": {"injection_position": 1, "injection_depth": 1, "role": "user"}}
    )

    assert sent(made(given, story(description="Desc")))[-2:] == ["u: Desc", "u: Fine"]


def test_notes_stand_at_the_start_or_the_end_of_the_main_prompt() -> None:
    notes = (
        Extension("2_floating_prompt", "note", "end", role="user"),
        Extension("1_memory", "summary", "start"),
        Extension("mine", "mine", "end"),
        Extension("DEPTH_PROMPT", "never here", "end"),
        Extension("off", "nowhere", "none"),
    )

    assert sent(made(preset(), story(extensions=notes), ()))[:4] == [
        "s: summary", "s: Main.", "u: note", "s: mine",
    ]  # fmt: skip


def test_notes_join_a_main_prompt_that_is_in_the_chat() -> None:
    given = preset(changed={"main": {"injection_position": 1, "injection_depth": 1, "injection_order": 5}})
    notes = (
        Extension("2_floating_prompt", "note", "end"),
        Extension("1_memory", "summary", "start"),
    )

    for quirks in (frozenset[Quirk](), SILLYTAVERN):
        assert sent(made(given, story(extensions=notes), quirks=quirks))[-2:] == [
            "s: summary\nMain.\nnote",
            "u: Fine",
        ]


def test_a_main_prompt_that_is_off_still_holds_its_notes() -> None:
    notes = (Extension("2_floating_prompt", "note", "end"),)

    for quirks in (frozenset[Quirk](), SILLYTAVERN):
        assert sent(made(preset(off=["main"]), story(extensions=notes), (), quirks=quirks))[0] == "s: note"


def test_notes_without_a_main_prompt_are_lost_or_stand_at_the_top() -> None:
    lacking = preset(prompt("c", "C"), order=["c", "chatHistory"])
    notes = story(extensions=(Extension("2_floating_prompt", "note", "end"),))

    assert sent(made(lacking, notes, (), quirks=SILLYTAVERN)) == ["s: C", "s: [Start a new Chat]"]
    assert sent(made(lacking, notes, ())) == ["s: note", "s: C", "s: [Start a new Chat]"]


def test_a_prompt_in_the_chat_without_depth_or_role_is_lost_or_has_the_usual_ones() -> None:
    bare = {"identifier": "b", "content": "bare", "system_prompt": False, "injection_position": 1}

    assert "s: bare" not in sent(made(preset(bare), quirks=SILLYTAVERN))
    assert sent(made(preset(bare)))[2] == "s: bare"  # depth 4 of four messages


ROLES = ("system", "user", "assistant")
PLACED = st.tuples(st.integers(0, 7), st.sampled_from((50, 100, 150)), st.sampled_from(ROLES))


def naive(lines: int, placed: list[tuple[int, int, str]]) -> list[str]:
    """Walk up from the end: before the line at a depth stands what is for that depth."""
    found: list[str] = []
    deepest = max([lines, *(depth for depth, _, _ in placed)])
    for depth in range(deepest + 1):
        here: list[str] = []
        for order in (50, 100, 150):
            for role in ("assistant", "user", "system"):
                texts = [f"p{n}" for n, its in enumerate(placed) if its == (depth, order, role)]
                if texts:
                    here.append(f"{role[0]}: " + "\n".join(texts))
        found = here + found
        if depth < lines:
            found = [f"a: line {lines - 1 - depth}", *found]
    return found


@over(st.integers(0, 5), st.lists(PLACED, max_size=8))
def test_everything_stands_where_a_naive_walk_from_the_end_puts_it(
    lines: int, placed: list[tuple[int, int, str]]
) -> None:
    own = [
        in_chat(f"p{n}", f"p{n}", depth, injection_order=order, role=role)
        for n, (depth, order, role) in enumerate(placed)
    ]
    chat = [ChatLine("Alice", f"line {n}") for n in range(lines)]

    assert sent(made(preset(*own), chat=chat))[2:] == naive(lines, placed)


def test_the_parts_of_a_message_say_where_they_are_from() -> None:
    given = preset(in_chat("x", "X", 0))
    built = made(given, story(extensions=(Extension("n", "note", depth=0),)), CHAT[:1])

    last = built.messages[-1]
    assert [(part.source, part.text) for part in last.parts] == [("x", "X"), ("n", "note")]
    assert last.lines == ()
    assert built.messages[-2].lines == (0,)
