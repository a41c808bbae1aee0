"""The agent loop: inbox, prompt, turn, step, attempt, settlement (spec agent-loop)."""

from engine.agent.agent import Agent
from engine.agent.compaction import Compactor
from engine.agent.inbox import Inbox
from engine.agent.prompt import AssembleContext, Assembly, Context, Part, Section, SystemPrompt
from engine.agent.registry import Agents
from engine.agent.services import Services, now_ms
from engine.agent.step import RequestFailure, RequestProposal
from engine.agent.tools import Tool, ToolRegistry
from engine.agent.turn import Decision, PreStep, TurnResult

__all__ = [
    "Agent",
    "Agents",
    "AssembleContext",
    "Assembly",
    "Compactor",
    "Context",
    "Decision",
    "Inbox",
    "Part",
    "PreStep",
    "RequestFailure",
    "RequestProposal",
    "Section",
    "Services",
    "SystemPrompt",
    "Tool",
    "ToolRegistry",
    "TurnResult",
    "now_ms",
]
