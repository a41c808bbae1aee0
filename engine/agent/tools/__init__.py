"""Tools: what they are, who has them on, and how a step's calls are answered (spec agent-loop 3.7)."""

from engine.agent.tools.pipeline import (
    MAX_RESULT,
    Approval,
    Blocked,
    PermissionRequest,
    Pipeline,
    PostExecute,
    Verdict,
)
from engine.agent.tools.pool import CONTEXT, ToolPool, ToolResult
from engine.agent.tools.registry import ToolRegistry
from engine.agent.tools.tool import (
    Guard,
    NoArguments,
    Tool,
    ToolArguments,
    ToolCall,
    ToolError,
    ToolOutcome,
    failed,
)

__all__ = [
    "CONTEXT",
    "MAX_RESULT",
    "Approval",
    "Blocked",
    "Guard",
    "NoArguments",
    "PermissionRequest",
    "Pipeline",
    "PostExecute",
    "Tool",
    "ToolArguments",
    "ToolCall",
    "ToolError",
    "ToolOutcome",
    "ToolPool",
    "ToolRegistry",
    "ToolResult",
    "Verdict",
    "failed",
]
