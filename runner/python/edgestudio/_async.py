"""Runs what an async tool returned. asyncio takes longer to import than a whole plain call, so it is loaded for these only."""
from __future__ import annotations

import asyncio
import os
import sys
from typing import Any

CLEANUP_SECONDS = 1


class PipeEnd:
    """One end of a pipe, as much of a socket as the event loop needs to wake itself."""

    def __init__(self, fd: int) -> None:
        os.set_blocking(fd, False)
        self.fd = fd

    def fileno(self) -> int:
        return self.fd

    def recv(self, count: int) -> bytes:
        return os.read(self.fd, count)

    def send(self, data: bytes) -> int:
        return os.write(self.fd, data)

    def close(self) -> None:
        os.close(self.fd)


class PipeLoop(asyncio.SelectorEventLoop):
    """The ordinary event loop, woken through a pipe: the sandbox allows no sockets, not even to oneself."""

    def _make_self_pipe(self) -> None:
        self._ssock, self._csock = map(PipeEnd, os.pipe())
        self._internal_fds += 1  # type: ignore[attr-defined]
        self._add_reader(self._ssock.fileno(), self._read_from_self)  # type: ignore[attr-defined]


def new_loop() -> asyncio.AbstractEventLoop:
    return asyncio.new_event_loop() if sys.platform == "win32" else PipeLoop()


def finish(awaitable: Any) -> object:
    async def wait() -> object:
        return await awaitable

    loop = new_loop()
    asyncio.set_event_loop(loop)
    try:
        return loop.run_until_complete(wait())
    finally:
        wind_up(loop)
        asyncio.set_event_loop(None)
        loop.close()


def wind_up(loop: asyncio.AbstractEventLoop) -> None:
    """As asyncio.run does, but a task that won't be cancelled can't hold up the result."""
    tasks = asyncio.all_tasks(loop)
    for task in tasks:
        task.cancel()
    try:
        if tasks:
            loop.run_until_complete(asyncio.wait(tasks, timeout=CLEANUP_SECONDS))
        loop.run_until_complete(asyncio.wait_for(loop.shutdown_asyncgens(), CLEANUP_SECONDS))
    except Exception:
        pass
