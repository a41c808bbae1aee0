"""The tool `dice`: rolls what the model asks for, and shows every die."""

from __future__ import annotations

from pydantic import Field

from engine.agent.tools import Tool, ToolArguments, ToolCall, ToolOutcome
from engine.table.dice import MAX_TEXT, Source, parse, roll

__all__ = ["DICE", "dice_tool"]

DICE = "dice"
REASON_LIMIT = 80  # characters; it stands on one line before the roll


class DiceArguments(ToolArguments):
    """What to roll, and what for."""

    expression: str = Field(
        max_length=MAX_TEXT,
        description="What to roll, e.g. 2d6+3, 4d6kh3 (keep the highest 3), 4d6dl1 (drop the lowest), "
        "3d6! (exploding), d20adv or d20dis (advantage, disadvantage), d%.",
    )
    reason: str = Field(
        default="", max_length=REASON_LIMIT, description="What the roll is for, in a few words. May be empty."
    )


def dice_tool(source: Source) -> Tool:
    """The tool; its dice fall as `source` says."""

    async def body(arguments: DiceArguments, call: ToolCall) -> ToolOutcome:
        rolled = str(roll(parse(arguments.expression), source))
        reason = " ".join(arguments.reason.split())
        return ToolOutcome(f"{reason}: {rolled}" if reason else rolled)

    return Tool(
        name=DICE,
        description="Roll dice. Use it whenever chance decides or a player asks for a roll; never make up a "
        "result. The players see the roll. Dice in brackets do not count; a ! behind a die says that it "
        "exploded.",
        body=body,
        arguments=DiceArguments,
        parallel=True,
    )
