"""The doctor: what is wrong and how to mend it, found on real files and real servers."""

from __future__ import annotations

import asyncio
import io
import socket
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from bot import doctor
from bot.doctor import Finding, database, model, sources
from bot.settings import AssemblySettings, Settings
from engine.storage import Store

Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]


async def found(findings: AsyncIterator[Finding]) -> list[Finding]:
    return [finding async for finding in findings]


def kinds(findings: list[Finding]) -> list[str]:
    return [finding.kind for finding in findings]


# --- the report


def test_a_finding_says_how_to_mend_it() -> None:
    assert str(doctor.good("Fine.")) == "✓ Fine."
    assert str(doctor.bad("Broken.", "Turn it off and on.")) == "✗ Broken.\n    → Turn it off and on."


async def test_something_bad_is_exit_code_1_and_counted(settings: Settings) -> None:
    out = io.StringIO()

    assert await doctor.run(settings, out) == 1  # there is no token

    assert "✗ Discord: no token is set." in out.getvalue()
    assert out.getvalue().endswith("\n1 thing needs mending.\n")


# --- what requests are made of


async def test_without_packages_there_is_nothing_to_say_of_sources(settings: Settings) -> None:
    assert await found(sources.check(settings)) == []


async def test_a_package_s_source_is_named_and_one_that_fails_tells_why(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "doctor_memory.py").write_text(
        "from engine.assembler import Definition, Output\n"
        "MEMORY = Definition(id='example.memory/recalled', plugin_id='example', name='Memory', "
        "resolve=lambda context, rule: Output())\n"
    )
    info = tmp_path / "doctor_memory-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: doctor_memory\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[inglenook.sources]\nmemory = doctor_memory:MEMORY\nlost = doctor_memory:LOST\n"
    )
    brought, failed = await found(sources.check(settings))
    assert (brought.kind, brought.text) == ("good", "Sources from packages: example.memory/recalled.")
    assert failed.kind == "note" and "“lost”" in failed.text and "LOST" in failed.text


async def test_the_advanced_back_end_on_a_model_that_takes_no_later_instructions_is_noted(
    settings: Settings,
) -> None:
    on = settings.model_copy(update={"assembly": AssemblySettings(advanced=True)})
    assert await found(sources.check(on)) == []  # the narrator takes them
    (found_note,) = await found(sources.check(asking(on, "http://127.0.0.1:9/v1")))
    assert found_note.kind == "note" and "only in front" in found_note.text


# --- the database


async def test_a_sound_database_is_good(settings: Settings) -> None:
    await (await Store.open(settings.storage.path)).aclose()

    first, disk = await found(database.check(settings))

    assert first == doctor.good(f"Database: {settings.storage.path} can be opened and is whole.")
    assert disk.text.startswith("Disk: ")


async def test_a_running_bot_does_not_stand_in_the_way(settings: Settings) -> None:
    async with await Store.open(settings.storage.path):
        assert (await found(database.check(settings)))[0].kind == "good"


async def test_before_the_first_start_there_is_none_and_none_is_made(settings: Settings) -> None:
    first = (await found(database.check(settings)))[0]

    assert first == doctor.note(
        f"Database: there is none yet; the first start makes {settings.storage.path}."
    )
    assert not settings.storage.path.exists()


async def test_a_file_that_is_no_database_is_bad(settings: Settings) -> None:
    settings.storage.path.write_bytes(b"this is a diary, and no database at all" * 500)

    first = (await found(database.check(settings)))[0]

    assert first.kind == "bad"
    assert first.mend is not None


async def test_a_database_of_another_version_is_bad(settings: Settings) -> None:
    await (await Store.open(settings.storage.path)).aclose()
    with sqlite3.connect(settings.storage.path) as raw:
        raw.execute("UPDATE migration SET checksum = x'00' WHERE version = 1")
    raw.close()

    first = (await found(database.check(settings)))[0]

    assert first.kind == "bad"
    assert first.mend == "Another version of the bot wrote it: update the bot, or go back to that version."


async def test_a_folder_that_may_not_be_written_is_bad(settings: Settings, data_dir: Path) -> None:
    (data_dir / "file").touch()
    blocked = settings.model_copy(
        update={"storage": settings.storage.model_copy(update={"path": data_dir / "file/inglenook.db"})}
    )

    assert (await found(database.check(blocked)))[0].kind == "bad"


# --- the model


@asynccontextmanager
async def server(answer: Answer) -> AsyncIterator[str]:
    """A model server on loopback; gives its base address."""
    app = web.Application()
    app.router.add_post("/v1/chat/completions", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    finally:
        await runner.cleanup()


def asking(settings: Settings, address: str, **more: Any) -> Settings:
    values = {"provider": "openai", "base_url": address, "model": "tiny", "api_key": "key-123456", **more}
    return Settings.model_validate(settings.model_dump() | {"model": values})


async def test_the_narrator_is_named_for_what_it_is(settings: Settings) -> None:
    (only,) = await found(model.check(settings))

    assert only.kind == "note"
    assert "offline narrator" in only.text


async def test_a_model_that_answers_is_good(settings: Settings) -> None:
    async def answer(request: web.Request) -> web.StreamResponse:
        assert request.headers["Authorization"] == "Bearer key-123456"
        asked = await request.json()
        assert asked["model"] == "tiny"
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        await response.write(
            b'data: {"choices":[{"index":0,"delta":{"content":"Hello."}}]}\n\n'
            b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n'
            b'data: {"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":2}}\n\n'
            b"data: [DONE]\n\n"
        )
        return response

    async with server(answer) as address:
        (only,) = await found(model.check(asking(settings, address)))

    assert only.kind == "good"
    assert only.text.startswith("Model: tiny answered in ")
    assert only.text.endswith(" s, 11 tokens.")


@pytest.mark.parametrize(
    ("status", "code", "mend"),
    [
        (401, "AUTH", "Set the server's key"),
        (402, "QUOTA", "Top up the account"),
        (429, "RATE_LIMIT", "Wait a moment"),
        (404, "HTTP_404", "Check model.base_url"),
        (500, "SERVER", "Check the section [model]"),
    ],
)
async def test_a_model_that_refuses_is_bad_and_says_how_to_mend_it(
    settings: Settings, status: int, code: str, mend: str
) -> None:
    async def answer(request: web.Request) -> web.StreamResponse:
        return web.json_response({"error": {"message": "no"}}, status=status)

    async with server(answer) as address:
        (only,) = await found(model.check(asking(settings, address)))

    assert only.kind == "bad"
    assert f"did not answer ({code})" in only.text
    assert only.mend is not None and only.mend.startswith(mend)
    assert "key-123456" not in str(only)


async def test_a_model_server_that_is_not_there_is_bad(settings: Settings) -> None:
    with socket.socket() as door:
        door.bind(("127.0.0.1", 0))
        port = door.getsockname()[1]

    (only,) = await found(model.check(asking(settings, f"http://127.0.0.1:{port}/v1")))

    assert only.kind == "bad"
    assert only.mend == "Check model.base_url, and that the server is running and can be reached from here."


async def test_a_model_server_that_hangs_is_bad(settings: Settings) -> None:
    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        assert request.transport is not None
        while not request.transport.is_closing():  # noqa: ASYNC110 - aiohttp has no event for it
            await asyncio.sleep(0.01)
        return response

    async with server(answer) as address:
        (only,) = await found(model.check(asking(settings, address, idle_timeout=0.2)))

    assert only.kind == "bad"
    assert "(TIMEOUT)" in only.text
