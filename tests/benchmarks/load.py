"""The service under load: a steady rate of requests for pages, answers and explanations.

Run as ``python tests/benchmarks/load.py [--rate 200] [--seconds 60] [--miners N] [--epochs N]``. A
state is made and served by a process of its own, which has no limit of rates; the operator asks.
Each request is sent at its own time, whether those before it are answered or not; its latency
counts from that time, so that a service that falls behind cannot hide it. A first pass fetches
every page once: its latencies are those of pages that nobody asked for before.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import attrs
import click

from tallystick.plugins.registry import installed
from tallystick.rules.loading import load
from tallystick_conformance.testing.history import history_of
from tallystick_service.application import application
from tallystick_service.server import address_of, bound, serving
from tallystick_service.settings import Settings
from tallystick_state.checkpoints import checkpoint
from tallystick_state.ledger import Ledger

RULES = "skills@1.2.0"
CONNECTIONS = 64
"""Open connections, each kept for many requests."""
EXPLAINED = 0.02
"""Share of the requests that post a record to be explained."""
PERCENTILES = (50, 90, 99)
OPERATOR = "operator-of-a-benchmark"
"""The secret by which everything is shown."""


@attrs.frozen
class Request:
    """One request.

    Attributes:
        kind: by which latencies are gathered.
        path: of the address.
        body: posted; None: a GET.
    """

    kind: str
    path: str
    body: bytes | None = None

    def encoded(self, host: str) -> bytes:
        """Return its bytes."""
        body = self.body or b""
        method = "GET" if self.body is None else "POST"
        head = f"{method} {self.path} HTTP/1.1\r\nHost: {host}\r\n"
        head += f"Authorization: Bearer {OPERATOR}\r\n"
        if self.body is not None:
            head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
        return f"{head}\r\n".encode() + body


class Sums:
    """Latencies in seconds and faults, by kind of request."""

    def __init__(self) -> None:
        self.seconds = defaultdict[str, list[float]](list)
        self.faults = defaultdict[str, int](int)

    def rows(self) -> list[str]:
        """Return a line for each kind: count, percentiles in milliseconds, the greatest, faults."""
        rows = []
        for kind, seconds in sorted(self.seconds.items()):
            ordered = sorted(seconds)
            shares = [ordered[min(len(ordered) - 1, len(ordered) * p // 100)] for p in PERCENTILES]
            figures = "".join(f"{1000 * value:9.1f}" for value in (*shares, ordered[-1]))
            rows.append(f"{kind:24}{len(ordered):7}{figures}{self.faults[kind]:8}")
        return rows


def made_state(folder: Path, miners: int, epochs: int, seed: int) -> tuple[list[str], bytes]:
    """Make the state ``subnet.db``; return the miners' hotkeys, and one record of it."""
    registry = installed()
    types = load(RULES, registry).rule_set.skill_types
    history = history_of(
        seed,
        [registry.skill_types[name] for name in types],
        miners=miners,
        validators=2,
        epochs=epochs,
        rounds=1,
    )
    by_epoch = defaultdict[int, list[bytes]](list)
    for line in history.lines(miners * epochs):
        by_epoch[json.loads(line)["epoch"]].append(line)
    listed = folder / "miners.csv"
    listed.write_bytes(history.network.to_csv())
    with Ledger.create(folder / "subnet.db", RULES) as ledger:
        ledger.sync_miners(listed)
        for epoch in range(epochs):
            ledger.close_round(by_epoch[epoch], bad="reject")
            ledger.close_epoch(epoch)
        checkpoint(ledger)
    hotkeys = [line.split(",")[1] for line in listed.read_text().splitlines()[1:]]
    return hotkeys, by_epoch[epochs - 1][0]


def requests(hotkeys: Sequence[str], epochs: int, record: bytes) -> tuple[list[Request], Request]:
    """Return every page and answer that is fetched, and the explanation that is asked for."""
    pages = ["/", "/miners", "/rules", "/network", "/api/v1/miners", "/api/v1/epochs"]
    found = [Request("page" if "api" not in path else "answer", path) for path in pages]
    found += [Request("page", f"/miners/{hotkey}") for hotkey in hotkeys]
    found += [Request("answer", f"/api/v1/miners/{hotkey}") for hotkey in hotkeys]
    found += [Request("answer", f"/api/v1/epochs/{epoch}") for epoch in range(epochs)]
    return found, Request("explain", f"/api/v1/explain?rules={RULES}", record)


class Client:
    """A pool of connections to the service."""

    def __init__(self, host: str, port: int, count: int = CONNECTIONS) -> None:
        self.host, self.port = host, port
        self._idle: asyncio.Queue[tuple[asyncio.StreamReader, asyncio.StreamWriter] | None]
        self._idle = asyncio.Queue()
        for _ in range(count):
            self._idle.put_nowait(None)

    async def status(self, request: Request) -> int:
        """Return the status of the answer, which is read whole; 0 where there is none."""
        pair = await self._idle.get()
        keep = None
        try:
            reader, writer = pair or await asyncio.open_connection(self.host, self.port)
            writer.write(request.encoded(f"{self.host}:{self.port}"))
            head = await reader.readuntil(b"\r\n\r\n")
            length = re.search(rb"(?i)content-length: *(\d+)", head)
            if length is not None:
                await reader.readexactly(int(length[1]))
            if length is not None and b"connection: close" not in head.lower():
                keep = reader, writer
            else:
                writer.close()
            return int(head.split(b" ", 2)[1])
        except (OSError, asyncio.IncompleteReadError):
            return 0
        finally:
            self._idle.put_nowait(keep)


@asynccontextmanager
async def service(folder: Path) -> AsyncIterator[tuple[str, int, int]]:
    """Serve the state by a process; give host, port and the number of the process."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, __file__, "--serve", str(folder), stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    try:
        line = await process.stdout.readline()
        found = re.search(rb"http://([\d.]+):(\d+)", line)
        assert found is not None, line
        yield found[1].decode(), int(found[2]), process.pid
    finally:
        process.send_signal(signal.SIGTERM)
        await process.wait()


async def serve(folder: Path) -> None:
    """Serve the state of a folder until the process is ended."""
    settings = Settings(operator=OPERATOR, rate=10**6, burst=10**6)
    listener = bound("127.0.0.1", 0)
    with listener, Ledger.open(folder / "subnet.db") as ledger:
        async with serving(application(ledger, settings), settings, listener) as task:
            print(address_of(listener), flush=True)
            await task


def memory(pid: int) -> int:
    """Return the resident bytes of a process."""
    text = Path(f"/proc/{pid}/status").read_text()
    (found,) = re.findall(r"VmRSS:\s+(\d+) kB", text)
    return int(found) << 10


async def ask(client: Client, request: Request, due: float, sums: Sums, kind: str) -> None:
    """Send a request and note its latency from the time at which it was due."""
    status = await client.status(request)
    sums.seconds[kind].append(time.perf_counter() - due)
    sums.faults[kind] += status not in {200, 304}


async def loaded(  # noqa: PLR0913, PLR0917  # what a load is
    folder: Path, hotkeys: list[str], record: bytes, epochs: int, rate: int, seconds: int
) -> None:
    """Load the service and print latencies, faults and memory."""
    fetched, explained = requests(hotkeys, epochs, record)
    chance = random.Random(1)
    async with service(folder) as (host, port, pid):
        client, sums, sizes = Client(host, port), Sums(), []
        for request in fetched:
            await ask(client, request, time.perf_counter(), sums, f"first {request.kind}")
        begun, tasks = time.perf_counter(), set[asyncio.Task[None]]()
        for number in range(rate * seconds):
            due = begun + number / rate
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
            request = explained if chance.random() < EXPLAINED else chance.choice(fetched)
            task = asyncio.create_task(ask(client, request, due, sums, request.kind))
            tasks.add(task)
            task.add_done_callback(tasks.discard)
            if number % (rate * max(1, seconds // 6)) == 0:
                sizes.append(memory(pid))
        await asyncio.gather(*tasks)
        sizes.append(memory(pid))
    print(f"{rate} requests a second for {seconds} s, {CONNECTIONS} connections, ms")
    print(f"{'':24}{'n':>7}" + "".join(f"{f'p{p}':>9}" for p in PERCENTILES) + "      max  faults")
    print(*sums.rows(), sep="\n")
    print("memory, MB:", *(f"{size / 1e6:.0f}" for size in sizes))


@click.command()
@click.option("--rate", default=200, show_default=True)
@click.option("--seconds", default=60, show_default=True)
@click.option("--miners", default=256, show_default=True)
@click.option("--epochs", default=300, show_default=True)
@click.option("--serve", "served", type=Path, hidden=True)
def main(rate: int, seconds: int, miners: int, epochs: int, served: Path | None) -> None:
    """Load the service."""
    if served is not None:
        asyncio.run(serve(served))
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        begun = time.perf_counter()
        hotkeys, record = made_state(folder, miners, epochs, seed=7)
        print(f"{miners} miners, {epochs} epochs: made in {time.perf_counter() - begun:.0f} s")
        asyncio.run(loaded(folder, hotkeys, record, epochs, rate, seconds))


if __name__ == "__main__":
    main()
