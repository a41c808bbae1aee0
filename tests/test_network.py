"""The switch that keeps the tests on this machine."""

from __future__ import annotations

import asyncio
import socket

import pytest

import engine.llm
from tests.network import RealNetworkForbidden


@pytest.mark.parametrize("address", [("192.0.2.1", 80), ("198.51.100.7", 443)])
def test_a_connection_beyond_loopback_is_refused_before_a_packet_leaves(address: tuple[str, int]) -> None:
    with (
        socket.socket() as door,
        pytest.raises(RealNetworkForbidden, match="the tests may not reach"),
    ):
        door.connect(address)


def test_an_ipv6_connection_beyond_loopback_is_refused() -> None:
    with socket.socket(socket.AF_INET6) as door, pytest.raises(RealNetworkForbidden):
        door.connect(("2001:db8::1", 80, 0, 0))


async def test_no_name_is_looked_up_not_even_by_asyncio() -> None:
    with pytest.raises(RealNetworkForbidden, match=r"example\.com"):
        await asyncio.open_connection("example.com", 80)


async def test_loopback_is_open() -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"hello")
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        reader, writer = await asyncio.open_connection("localhost", port)
        assert await reader.read() == b"hello"
        writer.close()
        await writer.wait_closed()


def test_the_engine_refuses_remote_model_servers() -> None:
    assert engine.llm.ALLOW_REMOTE_HOSTS is False
