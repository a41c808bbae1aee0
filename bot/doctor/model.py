"""The model: one small call, the way a story makes it."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator

from bot import provider
from bot.doctor.finding import Finding, bad, good, note
from bot.settings import Settings
from engine.cancel import CancelToken
from engine.errors import EngineError
from engine.llm import Failure, Llm, LlmRequest
from engine.session import user_message

__all__ = ["check"]

QUESTION = "Say hello in one short sentence."

_MEND = {
    "AUTH": "Set the server's key: INGLENOOK_MODEL__API_KEY or the file secrets/model.api_key.",
    "QUOTA": "Top up the account at the provider, or name another model.",
    "RATE_LIMIT": "Wait a moment, or ask the provider for a higher limit.",
    "TRANSPORT": "Check model.base_url, and that the server is running and can be reached from here.",
    "TIMEOUT": "Look whether the server is still loading the model, or raise model.idle_timeout.",
    "INVALID_REQUEST": "Check the name in model.model, and that the server knows it.",
    "HTTP_404": "Check model.base_url (it mostly ends in /v1) and the name in model.model.",
}


async def check(settings: Settings) -> AsyncIterator[Finding]:
    """Findings about the provider. The call costs a few tokens."""
    if settings.model.provider == "narrator":
        yield note(
            "Model: the offline narrator. It plays along without a model, to try things out.",
            "For real answers set model.provider, model.base_url and model.model.",
        )
        return
    name = settings.model.model or settings.model.provider
    llm = Llm()
    try:
        llm.register(provider.adapter(settings))
        began = time.perf_counter()
        failure, tokens = await _call(llm, settings)
        seconds = time.perf_counter() - began
    except EngineError as error:
        yield bad(
            f"Model: {error}", _MEND.get(error.error_code, "Check the section [model] of your settings.")
        )
        return
    finally:
        await llm.aclose()
    if failure is None:
        counted = f", {tokens} tokens" if tokens else ""
        yield good(f"Model: {name} answered in {seconds:.1f} s{counted}.")
    else:
        yield bad(
            f"Model: {name} did not answer ({failure.code}): {failure.message}",
            _MEND.get(failure.code, "Check the section [model] of your settings."),
        )


async def _call(llm: Llm, settings: Settings) -> tuple[Failure | None, int | None]:
    """What went wrong, if anything, and how many tokens were spent, if the server said."""
    call = llm.prepare_call(provider.call_config(settings))
    question = user_message("doctor", QUESTION, {"kind": "user"})
    request = LlmRequest(config=call.config, messages=(question,), purpose="doctor")
    tokens = None
    failure = Failure("The answer never ended.", "TRANSPORT")
    async for chunk in call.stream(request, CancelToken()):
        if chunk["type"] == "usage":
            tokens = chunk["usage"]["inputTokens"] + chunk["usage"]["outputTokens"]
        elif chunk["type"] == "finish":
            reason = chunk["reason"]
            if reason["kind"] != "error":
                return None, tokens
            failure = Failure.from_wire(reason["failure"])
    return failure, tokens
