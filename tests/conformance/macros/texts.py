"""Texts as SillyTavern's parser engine expands them, with the variables afterwards."""

import random
from datetime import UTC, datetime
from typing import Any

from engine.macros import Authored, Chat, ChatMessage, MacroContext, Variables, evaluate
from tests.conformance.compare import Mismatch, agree
from tests.conformance.vectors import Vector

_ONE_OF = "<one of "  # an expectation such as `<one of a,b,c; …>`


class Constant(random.Random):
    """Chance that always says the same."""

    def __init__(self, value: float) -> None:
        super().__init__(0)
        self._value = value

    def random(self) -> float:
        return self._value


def recorded(vector: Vector) -> None:
    """A run of 1.15 in the document's chat."""
    body, shared = vector.body, vector.document["context"]
    variables = Variables()
    result = evaluate(Authored(body["input"]), _recorded_context(shared, body), variables=variables)
    agree("text", body["expected"], result.text)
    agree("local variables", body["localAfter"], _after(variables, "local", {}))
    agree("global variables", body["globalAfter"], _after(variables, "global", {}))


def derived(vector: Vector) -> None:
    """What the documentation of 1.16 to 1.18 says."""
    body = vector.body
    local, global_ = body.get("local", {}), body.get("global", {})
    context = MacroContext(**vector.document["context"], local_variables=local, global_variables=global_)
    variables = Variables(local, global_)
    result = evaluate(Authored(body["input"]), context, variables=variables)
    if body["expected"].startswith(_ONE_OF):
        items = body["expected"].removeprefix(_ONE_OF).partition(";")[0].split(",")
        if result.text not in items:
            raise Mismatch("text", items, result.text)
    else:
        agree("text", body["expected"], result.text)
    if "localAfter" in body:
        agree("local variables", body["localAfter"], _after(variables, "local", local))


def _recorded_context(shared: dict[str, Any], body: dict[str, Any]) -> MacroContext:
    fields = shared["fields"]
    return MacroContext(
        user=shared["user"],
        char=shared["char"],
        group=body["group"].split(", ") if body.get("group") else (),
        persona=fields["persona"],
        description=fields["description"],
        personality=fields["personality"],
        scenario=fields["scenario"],
        mes_examples=fields["mesExamples"],
        char_prompt=fields["system"],
        char_instruction=fields["jailbreak"],
        char_depth_prompt=fields["charDepthPrompt"],
        creator_notes=fields["creatorNotes"],
        char_version=fields["version"],
        original=body.get("original"),
        chat=Chat(
            [_message(message) for message in shared["chat"]],
            first_included=shared["lastInContextMessageId"],
        ),
        outlets=shared["outlets"],
        model=shared["model"],
        max_context=shared["maxContext"],
        extra=body.get("dynamic", {}),
        now=datetime.fromisoformat(shared["clock"].removesuffix(" (UTC)")).astimezone(UTC),
        seed=shared["chatId"],
        rng=Constant(shared["randomEntropyValue"]),
    )


def _message(message: dict[str, Any]) -> ChatMessage:
    return ChatMessage(
        message["mes"],
        is_user=message["is_user"],
        swipes=len(message.get("swipes", ())),
        swipe=message.get("swipe_id", 0),
        sent_at=datetime.fromisoformat(message["send_date"]),
    )


def _after(variables: Variables, store: str, before: dict[str, Any]) -> dict[str, Any]:
    after = dict(before)
    for effect in variables.effects:
        if effect.store == store:
            after.pop(effect.name, None)
            if effect.value is not None:
                after[effect.name] = effect.value
    return after
