"""What a preset says of building."""

import pytest

from engine.prompting import Settings, settings_of


def test_what_is_not_said_is_the_default() -> None:
    found = settings_of({})

    assert found == Settings()
    assert (found.budget, found.new_chat) == (3795, "[Start a new Chat]")


def test_every_setting_is_read_under_sillytaverns_name() -> None:
    found = settings_of(
        {
            "openai_max_context": 8000.0,
            "openai_max_tokens": 500,
            "names_behavior": 2,
            "new_chat_prompt": "",
            "wi_format": "[{0}]",
            "squash_system_messages": True,
            "continue_prefill": True,
            "chat_completion_source": "claude",
            "custom_prompt_post_processing": "semi",
        },
        pin_examples=True,
    )

    assert found == Settings(
        context=8000, response=500, names=2, new_chat="", lore_format="[{0}]", squash=True,
        continue_prefill=True, provider="claude", post_processing="semi", pin_examples=True,
    )  # fmt: skip
    assert found.budget == 7500


@pytest.mark.parametrize(
    "raw",
    [
        {"names_behavior": "2"},
        {"names_behavior": True},
        {"names_behavior": 9},
        {"squash_system_messages": "yes"},
        {"openai_max_context": True},
        {"openai_max_context": float("inf")},
        {"openai_max_context": None, "new_chat_prompt": None},
        {"custom_prompt_post_processing": "upside-down"},
        {"custom_prompt_post_processing": ["merge"]},
    ],
)
def test_what_is_of_no_use_is_the_default(raw: dict[str, object]) -> None:
    assert settings_of(raw) == Settings()


def test_the_older_name_of_merging_is_understood() -> None:
    assert settings_of({"custom_prompt_post_processing": "claude"}).post_processing == "merge"
