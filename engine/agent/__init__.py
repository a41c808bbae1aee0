"""The agent loop: inbox, prompt, turn, step, attempt, settlement (spec agent-loop)."""

from engine.agent.agent import Agent
from engine.agent.assembling import ASSEMBLY, SETTLED, Assembled, RequestAssembly, last_assembly
from engine.agent.compaction import Compactor
from engine.agent.inbox import Inbox
from engine.agent.pictures import PictureFallback
from engine.agent.prompt import (
    AssembleContext,
    Assembly,
    Context,
    ContextOrder,
    Part,
    Section,
    SectionOrder,
    Variable,
)
from engine.agent.queue import Queue, QueueOutcome, Waiting
from engine.agent.registry import MAX_DELEGATION_DEPTH, Agents
from engine.agent.services import PictureSource, Services, now_ms
from engine.agent.setup import AgentSetup
from engine.agent.step import RequestFailure, RequestProposal, told_tools
from engine.agent.system_prompt import REST, SystemPrompt
from engine.agent.tools import Tool, ToolRegistry
from engine.agent.turn import Decision, PreStep, TurnResult

__all__ = [
    "ASSEMBLY",
    "MAX_DELEGATION_DEPTH",
    "REST",
    "SETTLED",
    "Agent",
    "AgentSetup",
    "Agents",
    "AssembleContext",
    "Assembled",
    "Assembly",
    "Compactor",
    "Context",
    "ContextOrder",
    "Decision",
    "Inbox",
    "Part",
    "PictureFallback",
    "PictureSource",
    "PreStep",
    "Queue",
    "QueueOutcome",
    "RequestAssembly",
    "RequestFailure",
    "RequestProposal",
    "Section",
    "SectionOrder",
    "Services",
    "SystemPrompt",
    "Tool",
    "ToolRegistry",
    "TurnResult",
    "Variable",
    "Waiting",
    "last_assembly",
    "now_ms",
    "told_tools",
]
