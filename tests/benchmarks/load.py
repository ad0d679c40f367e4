"""The service under load: a steady rate of requests for pages, answers and explanations.

Run as ``python tests/benchmarks/load.py [--rate 200] [--seconds 60]``. The made-up network of
``tallystick serve --demo`` is served by a process of its own, which has no limit of rates; the
operator asks. Each request is sent at its own time, whether those before it are answered or not;
its latency counts from that time, so that a service that falls behind cannot hide it. A first pass
fetches every page once: its latencies are those of pages that nobody asked for before.
"""

from __future__ import annotations

import asyncio
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import attrs
import click
import httpx

from tallystick_service.application import application
from tallystick_service.demo import made_up_state
from tallystick_service.server import address_of, bound, serving
from tallystick_service.settings import Settings

EXAMPLES = Path(__file__).resolve().parents[2] / "plugins" / "tallystick_skills" / "examples.jsonl"
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


async def fetched(client: httpx.AsyncClient) -> list[Request]:
    """Return every page and answer that is fetched."""
    miners = (await client.get("/api/v1/miners")).json()["miners"]
    epochs = (await client.get("/api/v1/epochs")).json()["epochs"]
    pages = ["/", "/miners", "/rules", "/network"]
    pages += [f"/miners/{miner['hotkey']}" for miner in miners]
    answers = ["/api/v1/miners", "/api/v1/epochs"]
    answers += [f"/api/v1/miners/{miner['hotkey']}" for miner in miners]
    answers += [f"/api/v1/epochs/{epoch['epoch']}" for epoch in epochs]
    return [Request("page", path) for path in pages] + [Request("answer", p) for p in answers]


@asynccontextmanager
async def service() -> AsyncIterator[tuple[str, int]]:
    """Serve the state by a process; give the address and the number of the process."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, __file__, "--serve", stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    try:
        yield (await process.stdout.readline()).decode().strip(), process.pid
    finally:
        process.send_signal(signal.SIGTERM)
        await process.wait()


async def serve() -> None:
    """Make a state and serve it until the process is ended."""
    settings = Settings(operator=OPERATOR, rate=10**6, burst=10**6)
    with tempfile.TemporaryDirectory() as name, made_up_state(Path(name)) as ledger:
        listener = bound("127.0.0.1", 0)
        async with serving(application(ledger, settings), settings, listener) as task:
            print(address_of(listener), flush=True)
            await task


def memory(pid: int) -> int:
    """Return the resident bytes of a process."""
    text = Path(f"/proc/{pid}/status").read_text()
    (found,) = re.findall(r"VmRSS:\s+(\d+) kB", text)
    return int(found) << 10


async def ask(
    client: httpx.AsyncClient, request: Request, due: float, sums: Sums, kind: str
) -> None:
    """Send a request and note its latency from the time at which it was due."""
    method = "GET" if request.body is None else "POST"
    try:
        answer = await client.request(method, request.path, content=request.body)
    except httpx.TransportError:
        sums.faults[kind] += 1
    else:
        sums.faults[kind] += not answer.is_success
    sums.seconds[kind].append(time.perf_counter() - due)


async def load(rate: int, seconds: int) -> None:
    """Load the service and print latencies, faults and memory."""
    chance, sums, sizes = random.Random(1), Sums(), []
    record = EXAMPLES.read_bytes().splitlines()[0]
    explained = Request("explain", "/api/v1/explain?rules=skills@1.2.0", record)
    headers = {"Authorization": f"Bearer {OPERATOR}", "Content-Type": "application/json"}
    limits = httpx.Limits(max_connections=CONNECTIONS)
    async with (
        service() as (address, pid),
        httpx.AsyncClient(base_url=address, headers=headers, limits=limits, timeout=60) as client,
    ):
        requests = await fetched(client)
        for request in requests:
            await ask(client, request, time.perf_counter(), sums, f"first {request.kind}")
        begun, tasks = time.perf_counter(), set[asyncio.Task[None]]()
        for number in range(rate * seconds):
            due = begun + number / rate
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
            request = explained if chance.random() < EXPLAINED else chance.choice(requests)
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
@click.option("--serve", "is_service", is_flag=True, hidden=True)
def main(rate: int, seconds: int, is_service: bool) -> None:
    """Load the service."""
    asyncio.run(serve() if is_service else load(rate, seconds))


if __name__ == "__main__":
    main()
