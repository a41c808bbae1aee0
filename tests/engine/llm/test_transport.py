"""The door to the network."""

from __future__ import annotations

import httpx
import pytest

import engine.llm
from engine.llm import LlmFailure
from engine.llm.transport import GuardedTransport, is_loopback


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST", "127.0.0.1", "127.8.8.8", "::1", "[::1]", "localhost."]
)
def test_hosts_of_this_machine(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize(
    "host", ["example.com", "localhost.example.com", "10.0.0.1", "0.0.0.0", "::", "127.0.0.1.nip.io", ""]
)
def test_hosts_of_other_machines(host: str) -> None:
    assert not is_loopback(host)


class Recorder(httpx.AsyncBaseTransport):
    """A transport without a network that remembers what reached it."""

    def __init__(self) -> None:
        self.hosts: list[str] = []
        self.closed = False

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self.hosts.append(request.url.host)
        return httpx.Response(200)

    async def aclose(self) -> None:
        self.closed = True


async def test_the_switch_is_read_at_every_request(monkeypatch: pytest.MonkeyPatch) -> None:
    inner = Recorder()
    async with httpx.AsyncClient(transport=GuardedTransport(inner)) as client:
        monkeypatch.setattr(engine.llm, "ALLOW_REMOTE_HOSTS", False)
        await client.get("http://127.0.0.1/")
        with pytest.raises(LlmFailure) as caught:
            await client.get("http://models.example/")
        assert caught.value.failure.code == "REMOTE_FORBIDDEN"
        monkeypatch.setattr(engine.llm, "ALLOW_REMOTE_HOSTS", True)
        await client.get("http://models.example/")
    assert inner.hosts == ["127.0.0.1", "models.example"]
    assert inner.closed
