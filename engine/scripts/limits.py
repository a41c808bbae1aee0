"""What a script cannot do here, so that nobody has to find out by wondering.

What was said stands in the log as it was sent; only a strategy of the advanced back end, which puts each
request together anew, changes answers for the model alone. Under any other a script acts where the log is
written (people's words) and where it is shown (answers).
"""

from __future__ import annotations

from engine.resources import Diagnostic, Diagnostics, RegexScript

__all__ = ["script_limits"]

_USER_INPUT, _AI_OUTPUT = 1, 2


def script_limits(script: RegexScript) -> tuple[Diagnostic, ...]:
    """Remarks for whoever looks at a script: `script-request-only`, `script-depth-fixed`."""
    notes = Diagnostics()
    if script.disabled or not script.prompt_only:
        return ()
    if _AI_OUTPUT in script.placements:
        notes.warn(
            "script-request-only",
            "It changes earlier answers in the request to the model. That needs an advanced strategy; "
            "under any other the model reads its answers as it wrote them.",
            script.name,
        )
    if _USER_INPUT in script.placements and ((script.min_depth or 0) > 0 or script.max_depth is not None):
        notes.info(
            "script-depth-fixed",
            "It looks at how far back a message is. Here people's words are changed once, when the model "
            "first reads them, and stay so.",
            script.name,
        )
    return notes.all()
