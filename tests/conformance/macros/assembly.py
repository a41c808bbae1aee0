"""Texts as the assembler's text renderer finishes them (decision 18, profile `assembly`)."""

from engine.macros import Authored, Chat, ChatMessage, MacroContext, expand
from tests.conformance.compare import agree
from tests.conformance.macros.texts import Constant
from tests.conformance.vectors import Vector


def run(vector: Vector) -> None:
    given = vector.body["input"]
    context = given["context"]
    spoken = []
    if "lastUserMessage" in context:
        spoken.append(ChatMessage(context["lastUserMessage"], is_user=True))
    if "lastAssistantMessage" in context:
        spoken.append(ChatMessage(context["lastAssistantMessage"]))
    names = {"user": "user", "char": "character"}
    macros = MacroContext(
        **{field: context[name] for field, name in names.items() if name in context},
        chat=Chat(spoken),
        literals=given["literalMacros"],
        rng=Constant(context.get("random", 0.5)),
    )
    agree("text", vector.body["expect"]["text"], expand(Authored(given["text"]), macros, profile="assembly"))
