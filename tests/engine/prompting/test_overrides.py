"""The card's instructions in the place of the preset's."""

from engine.prompting import SILLYTAVERN
from tests.engine.prompting.make import made, preset, sent, story


def test_the_original_stands_at_its_first_use_only() -> None:
    told = story(system_prompt="A({{original}})({{original}}) {{user}}")

    assert sent(made(preset(), told, ()))[0] == "s: A(Main.)() Bob"


def test_post_history_instructions_replace_the_presets() -> None:
    given = preset(changed={"jailbreak": {"content": "JB"}})

    assert sent(made(given, story(post_history="P({{original}})")))[-1] == "s: P(JB)"
    assert sent(made(preset(), story(post_history="P({{original}})")))[-1] == "s: P()"


def test_a_prompt_that_forbids_it_stays() -> None:
    given = preset(changed={"main": {"forbid_overrides": True}})

    assert sent(made(given, story(system_prompt="Card."), ()))[0] == "s: Main."


def test_a_prompt_that_is_off_or_missing_is_not_replaced() -> None:
    told = story(system_prompt="Card.", post_history="Card too.")
    for quirks in (frozenset(), SILLYTAVERN):
        assert "s: Card." not in sent(made(preset(off=["main"]), told, quirks=quirks))
        lacking = preset(order=["main", "chatHistory"])
        assert "s: Card too." not in sent(made(lacking, told, quirks=quirks))


def test_a_main_prompt_in_the_chat_is_replaced_there() -> None:
    given = preset(changed={"main": {"injection_position": 1, "injection_depth": 0}})

    assert sent(made(given, story(system_prompt="Card.")))[-1] == "s: Card."


def test_the_original_of_nothing_stays_as_it_is() -> None:
    given = preset(changed={"main": {"content": "x {{original}}"}})

    assert sent(made(given, chat=()))[0] == "s: x {{original}}"
