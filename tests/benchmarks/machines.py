"""A simulation of scoring 10⁹ records on N machines, at rates that are measured on this one.

Run as ``python tests/benchmarks/machines.py [--records N] [--gbit G] [--tiny] …``. It measures here
what a record costs the process that begins a run, what it costs a worker, and how large it is on
its ways; every figure can be given instead. Then it follows each chunk of a run, as `Cluster` does:

- the coordinator, one thread on a machine with the scheduler, reads the whole input to cut and to
  hash it, hands out the places of chunks, and joins the parts of the results in order; it is ahead
  by three chunks a worker;
- a worker, one a core, reads its chunk from the storage, scores it and sends the part back.

What reads at the same time shares the network of its machine, and the storage. Nothing is lost, the
scheduler costs nothing, and every core is as fast as the one that was measured.
"""

import argparse
import pickle
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable
from functools import partial
from heapq import heappop, heappush
from pathlib import Path
from typing import Any

from attrs import Factory, asdict, define, evolve, fields, frozen
from score import SKILLS

import tallystick
from tallystick.io.sources import CHUNK_BYTES

RULES = "skills@1.2.0"
MACHINES = (1, 4, 16, 64)
AHEAD = 3
"""Chunks begun for each worker, as `Cluster` has it."""


@frozen
class Costs:
    """The costs of a record, in µs of one core, and its sizes, in bytes.

    Attributes:
        cut: of the coordinator, to read, hash and cut.
        join: of the coordinator, to join, hash and write.
        score: of a worker.
        line: of the input.
        part: of what a worker sends back.
    """

    cut: float
    join: float
    score: float
    line: float
    part: float


@frozen
class Site:
    """The machines of a run, their network and the storage.

    Attributes:
        records: how many there are.
        cores: workers a machine.
        gbit: the network of a machine, in 10⁹ bits a second.
        storage: that of the storage.
    """

    records: int
    cores: int
    gbit: float
    storage: float


@define
class Line:
    """A resource that does one thing after the other.

    Attributes:
        rate: bytes a second; 1 of a resource that is used by the second.
        free: when it has done what it was given, in seconds.
        used: seconds in which it was at work.
    """

    rate: float = 1.0
    free: float = 0.0
    used: float = 0.0

    def done(self, begin: float, amount: float) -> float:
        """Return when an amount is done that may begin at some time."""
        takes = amount / self.rate
        self.free, self.used = max(begin, self.free) + takes, self.used + takes
        return self.free


@frozen
class Run:
    """How a simulated run ended.

    Attributes:
        seconds: how long it took.
        moved: bytes that went over a network.
        busy: the part of the time in which a resource was at work, by its name.
    """

    seconds: float
    moved: float
    busy: dict[str, float]

    @property
    def wall(self) -> str:
        """The resource that was at work longest."""
        return max(self.busy, key=lambda name: self.busy[name])


class Simulation:
    """A run, event after event; a resource is asked for in the order of time."""

    def __init__(self, costs: Costs, site: Site, machines: int) -> None:
        """Begin with idle workers."""
        self.costs, self.machines = costs, machines
        self.rows = max(1, round(CHUNK_BYTES / costs.line))
        self.chunks = -(-site.records // self.rows)
        self.size, self.part = self.rows * costs.line, self.rows * costs.part
        network = site.gbit / 8 * 1e9
        self.coordinator, self.network = Line(), Line(network)
        self.storage = Line(site.storage / 8 * 1e9)
        self.incoming = [Line(network) for _ in range(machines)]
        self.outgoing = [Line(network) for _ in range(machines)]
        self.workers = machines * site.cores
        self.idle = deque(number % machines for number in range(self.workers))
        self.placed, self.begun, self.joined = deque[int](), 0, 0
        self.arrived: set[int] = set()
        self.is_waiting = False
        self.events: list[tuple[float, int, Callable[..., None], tuple[int, ...]]] = []
        self.now, self.number = 0.0, 0

    def at(self, seconds: float, event: Callable[..., None], *arguments: int) -> None:
        """Let something happen at a time."""
        self.number += 1
        heappush(self.events, (seconds, self.number, event, arguments))

    def run(self) -> Run:
        """Return how the run ends."""
        self.at(0.0, self.coordinate)
        while self.events:
            self.now, _, event, arguments = heappop(self.events)
            event(*arguments)
        scoring = self.chunks * self.rows * self.costs.score / 1e6
        used = {
            "coordinator": self.coordinator.used,
            "its network": self.network.used,
            "workers": scoring / self.workers,
            "their networks": sum(each.used for each in self.incoming) / self.machines,
            "storage": self.storage.used,
        }
        busy = {name: seconds / self.now for name, seconds in used.items()}
        return Run(self.now, self.chunks * (2 * self.size + self.part), busy)

    def coordinate(self) -> None:
        """Cut the next chunk, or join the next part once enough is begun."""
        ahead = self.begun - self.joined
        if self.begun < self.chunks and ahead < AHEAD * self.workers:
            read = self._read(self.network)
            # the next bytes are read while these are hashed: it waits for the slower of both
            cut = self.coordinator.done(self.now, self.rows * self.costs.cut / 1e6)
            self.at(max(read, cut), self.place)
        elif self.joined in self.arrived:
            self.arrived.remove(self.joined)
            self.joined += 1
            join = self.coordinator.done(self.now, self.rows * self.costs.join / 1e6)
            self.at(join, self.coordinate)
        else:
            self.is_waiting = self.joined < self.chunks

    def place(self) -> None:
        """Hand out a chunk."""
        self.placed.append(self.begun)
        self.begun += 1
        self.work()
        self.coordinate()

    def work(self) -> None:
        """Let an idle worker read a chunk, where both are there."""
        if self.placed and self.idle:
            machine = self.idle.popleft()
            read = self._read(self.incoming[machine])
            scored = read + self.rows * self.costs.score / 1e6
            self.at(scored, self.send, self.placed.popleft(), machine)

    def send(self, chunk: int, machine: int) -> None:
        """Send the part of a chunk, and take the next one."""
        self.at(self.outgoing[machine].done(self.now, self.part), self.receive, chunk)
        self.idle.append(machine)
        self.work()

    def receive(self, chunk: int) -> None:
        """Take a part from the network of the coordinator."""
        self.at(self.network.done(self.now, self.part), self.arrive, chunk)

    def arrive(self, chunk: int) -> None:
        """Wake the coordinator if it waits for this part."""
        self.arrived.add(chunk)
        if self.is_waiting and chunk == self.joined:
            self.is_waiting = False
            self.coordinate()

    def _read(self, network: Line) -> float:
        """Return when a chunk has come from the storage."""
        return max(network.done(self.now, self.size), self.storage.done(self.now, self.size))


@define
class Measuring:
    """An executor that takes the time of what a cluster does in several places, in turn here.

    Attributes:
        seconds: of the processor, by what they were taken for.
        sent: bytes of what workers would send back.
    """

    is_elsewhere = True
    seconds: dict[str, float] = Factory(dict)
    sent: int = 0

    def map(
        self, function: Callable[[Any], Any], tasks: Iterable[Any]
    ) -> Generator[Any, None, None]:
        """Yield the answers, each stage after the one before."""
        places = self._timed("cut", partial(list, tasks))
        answers = self._timed("score", lambda: [function(place) for place in places])
        self.sent = sum(len(pickle.dumps(answer)) for answer in answers)
        begun = time.process_time()
        yield from answers
        self.seconds["join"] = time.process_time() - begun

    def _timed(self, name: str, stage: Callable[[], list[Any]]) -> list[Any]:
        begun = time.process_time()
        made = stage()
        self.seconds[name] = time.process_time() - begun
        return made


def measured(count: int) -> Costs:
    """Measure with some made-up records, scored to Parquet."""
    scorer = tallystick.load(RULES)
    with tempfile.TemporaryDirectory() as folder:
        records, output = Path(folder, "records.jsonl"), Path(folder, "results.parquet")
        making = (sys.executable, "-m", "tallystick", "records", "generate", "--seed", "1")
        options = ("--count", str(count), "--types", ",".join(SKILLS), "-o", records)
        subprocess.run([*making, *options], check=True, capture_output=True)
        found = []
        for _ in range(3):
            executor = Measuring()
            scorer.score_file(records, output, executor=executor)
            found.append(executor)
        least = {name: min(each.seconds[name] for each in found) for name in found[0].seconds}
        stages = {name: 1e6 * seconds / count for name, seconds in least.items()}
        line, part = records.stat().st_size / count, found[0].sent / count
        return Costs(**stages, line=line, part=part)


def table(costs: Costs, site: Site) -> str:
    """The runs as a table in Markdown."""
    rows = [
        "| machines | s | records/s | TB moved | wall | at work | as N runs, s | wall |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for machines in MACHINES:
        run = Simulation(costs, site, machines).run()
        share = evolve(site, records=-(-site.records // machines), storage=site.storage / machines)
        apart = Simulation(costs, share, 1).run()
        rows.append(
            f"| {machines} | {run.seconds:,.0f} | {site.records / run.seconds:,.0f} "
            f"| {run.moved / 1e12:.2f} | {run.wall} | {run.busy[run.wall]:.0%} "
            f"| {apart.seconds:,.0f} | {apart.wall} |"
        )
    return "\n".join(rows)


def main() -> None:
    """Print what was measured, and the table."""
    parser = argparse.ArgumentParser(description="simulate a run on N machines")
    parser.add_argument("--records", type=int, default=10**9)
    parser.add_argument("--cores", type=int, default=8, help="workers a machine")
    parser.add_argument("--gbit", type=float, default=10.0, help="of the network of a machine")
    parser.add_argument("--storage", type=float, default=100.0, help="Gbit/s of the storage")
    parser.add_argument("--tiny", action="store_true", help="measure and simulate next to nothing")
    for name in ("cut", "join", "score", "line", "part"):
        parser.add_argument(
            f"--{name}", type=float, help="of a record, instead of what is measured"
        )
    given = parser.parse_args()
    told = {each.name: getattr(given, each.name) for each in fields(Costs)}
    if None in told.values():
        found = asdict(measured(500 if given.tiny else 200_000))
        told = {name: found[name] if value is None else value for name, value in told.items()}
    costs = Costs(**told)
    records = 10**6 if given.tiny else given.records
    print(", ".join(f"{name} {value:.2f}" for name, value in asdict(costs).items()))
    print(table(costs, Site(records, given.cores, given.gbit, given.storage)))


if __name__ == "__main__":
    main()
