"""A history through every path, beside what validators write by hand: speed, memory, growth.

Run as ``python tests/benchmarks/history.py [--part PART …] [--large | --tiny]``.
Each path runs in a process of its own, once with few records and then timed; all paths run in turn,
several times, and medians are printed. Rates are those after start-up: of paths with workers, from
the moment on at which each of these has answered. Memory is the peak of all processes of a path.
"""

import gc
import math
import os
import platform
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from importlib.metadata import version
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path

import attrs
import click
from paths import OPEN, PARTS, SAMPLE, Inputs, Part, Way, types

from tallystick.plugins.registry import installed
from tallystick.scoring.facts.catalog import catalog_of
from tallystick.scoring.facts.file import FactsWriter
from tallystick.scoring.facts.run import extract_file
from tallystick.scoring.facts.source import FactsSource
from tallystick_conformance.testing.history import history_of

TILE = 10**5
"""Larger facts files repeat those of so many records."""
TIRING = 5 * 10**6
"""From so many rows on a path is timed once."""


@attrs.frozen
class Timing:
    """One run of a path.

    Attributes:
        rate: rows a second, of a back-test times candidates, after start-up; 0 when the workers
            were done before all of them had begun.
        start_up: seconds until then.
        said: the sum of the emissions, or the digest of the results.
        checked: the same of the sample.
        peak: bytes.
    """

    rate: float
    start_up: float
    said: float | str | None
    checked: float | str | None
    peak: int = 0


def timed(way: Way, inputs: Inputs) -> Timing:
    """A run of a path, after one over the sample."""
    ticks = list[float]()
    checked = way.run(Inputs(inputs.folder, SAMPLE), lambda *_: None)[1]
    gc.collect()
    start = time.perf_counter()
    rows, said = way.run(inputs, lambda *_: ticks.append(time.perf_counter()))
    end, begun, share = time.perf_counter(), start, 1.0
    if way.workers > 1:
        begun, share = ticks[: way.workers][-1], max(0, 1 - way.workers / len(ticks))
    return Timing(rows * share / (end - begun), begun - start, said, checked)


def serve(theirs: Connection, part: str, place: int, inputs: Inputs) -> None:
    """Time a path and send what came of it."""
    with OPEN:
        theirs.send(timed(PARTS[part].ways[place], inputs))


def measured(part: str, place: int, inputs: Inputs) -> Timing:
    """A path in a process of its own, whose memory is watched."""
    context = get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=serve, args=(theirs, part, place, inputs))
    process.start()
    theirs.close()
    peaks: dict[int, int] = {}
    while not ours.poll(0.03):
        watch(process.pid or 0, peaks)
    found: Timing = ours.recv()
    process.join()
    return attrs.evolve(found, peak=sum(peaks.values()))


def watch(pid: int, peaks: dict[int, int]) -> None:
    """Note the highest memory so far of a process and of those that it began."""
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                peaks[pid] = 1024 * int(line.split()[1])
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in (task / "children").read_text().split():
                watch(int(child), peaks)


def prepare(folder: Path, jsonl: Sequence[int], facts: Sequence[int]) -> None:
    """Make the records and facts of every size."""
    network = {"miners": 256, "validators": 16, "epochs": 100, "rounds": 10}
    tile = min(TILE, max([*jsonl, *facts]))
    for rows in {SAMPLE, tile, *jsonl}:
        inputs = Inputs(folder, rows)
        lines = history_of(7, types(), **network).lines(rows)
        with inputs.records.open("wb") as file:
            file.writelines(lines)
        if rows in (SAMPLE, tile):
            extract_file(inputs.records, inputs.facts, installed())
    for rows in set(facts) - {tile}:
        tiled(Inputs(folder, tile), Inputs(folder, rows))


def tiled(tile: Inputs, inputs: Inputs) -> None:
    """Facts over and over, with lines that go on."""
    catalogues = catalog_of(installed())
    every = {name: frozenset(catalog.by_digest) for name, catalog in catalogues.items()}
    chunks = [*FactsSource(tile.facts)]
    with inputs.facts.open("wb") as file:
        writer = FactsWriter(file, catalogues)
        for before in range(0, inputs.rows, tile.rows):
            for chunk in chunks:
                writer.append(attrs.evolve(chunk, before=before).facts(catalogues, every))
        writer.close()


Timings = dict[tuple[int, int], list[Timing]]
"""By the number of rows and the place of the path."""


def turns(name: str, part: Part, folder: Path, sizes: Sequence[int], repeats: int) -> Timings:
    """Every path in turn, so often."""
    found: Timings = defaultdict(list)
    for turn in range(repeats):
        for rows in sizes:
            for place, way in enumerate(part.ways):
                if rows > way.most or (turn and (rows >= TIRING or way.once)):
                    continue
                if sys.stderr.isatty():
                    print(f"{name} {rows} {way.name}", end="\033[K\r", file=sys.stderr, flush=True)
                found[rows, place].append(measured(name, place, Inputs(folder, rows)))
    return found


def rows_of(part: Part, found: Timings) -> Iterator[list[str]]:
    """The cells of the table of a part."""
    against = list(dict.fromkeys(heading for way in part.ways for heading in way.against))
    yield ["path", "rows", part.unit, *against, "start-up, s", "peak, MB"]
    places = {way.name: place for place, way in enumerate(part.ways)}

    def rate(rows: int, place: int) -> float:
        return statistics.median(each.rate for each in found[rows, place])

    for rows, place in sorted(found):
        way, own = part.ways[place], rate(rows, place)
        if not own:
            continue
        others = [places.get(way.against.get(heading, "")) for heading in against]
        ratios = [
            "" if p is None or (rows, p) not in found else rounded(own / rate(rows, p))
            for p in others
        ]
        start_up = statistics.median(each.start_up for each in found[rows, place])
        peak = max(each.peak for each in found[rows, place]) / 1e6
        waited = f"{start_up:.1f}" if way.workers > 1 else ""
        yield [way.name, grouped(rows), grouped(own), *ratios, waited, grouped(peak)]


def grouped(value: float) -> str:
    """Three digits, in groups."""
    digits = 2 - math.floor(math.log10(max(value, 1)))
    return f"{round(value, digits):,.0f}".replace(",", " ")


def rounded(ratio: float) -> str:
    """Three digits at most."""
    return f"{ratio:.0f}" if ratio >= 100 else f"{ratio:.1f}" if ratio >= 10 else f"{ratio:.2f}"


def table(cells: list[list[str]]) -> str:
    """Return rows as Markdown."""
    lines = [f"| {' | '.join(row)} |" for row in cells]
    return "\n".join([lines[0], "|---" * len(cells[0]) + "|", *lines[1:]])


def agreed(found: Timings) -> str:
    """Whether all paths of a part came to the same, as a sentence."""
    digests, totals = defaultdict(set), set[float]()
    for (rows, _), timings in found.items():
        for each in timings:
            if isinstance(each.said, str):
                kind, _, digest = each.said.partition(" ")
                digests[rows, kind].add(digest)
            if isinstance(each.checked, float):
                totals.add(each.checked)
    close = not totals or max(totals) - min(totals) < 1e-6 * max(totals)
    if not close or any(len(each) > 1 for each in digests.values()):
        return f"THE PATHS DIFFER: {sorted(totals)}, {dict(digests)}"
    said = ["files of one size are the same bytes"] if digests else []
    return "; ".join(said + (["the emissions agree"] if totals else []))


def machine() -> str:
    """What it was measured on."""
    with suppress(OSError):
        info = Path("/proc/cpuinfo").read_text().splitlines()
        model = next(line.partition(":")[2].strip() for line in info if "model name" in line)
    packages = ["numpy", "pyarrow", "msgspec", "jsonschema", "distributed"]
    with_versions = ", ".join(f"{name} {version(name)}" for name in packages)
    return f"{os.cpu_count()} cores, {model}, Python {platform.python_version()}, {with_versions}"


def load() -> str:
    """The load average."""
    return " ".join(f"{each:.1f}" for each in os.getloadavg())


@click.command()
@click.option("--part", "parts", multiple=True, type=click.Choice(list(PARTS)), help="Only these.")
@click.option("--large", is_flag=True, help="Also a million records of JSONL.")
@click.option("--tiny", is_flag=True, help="Tiny sizes, to see that everything works.")
@click.option("--repeats", default=3, show_default=True, type=click.IntRange(1))
def main(parts: tuple[str, ...], large: bool, tiny: bool, repeats: int) -> None:
    """Print a table for each part."""
    jsonl, facts = [10**5] + [10**6] * large, [10**5, 10**6, 10**7]
    if tiny:
        jsonl, facts = [500], [1_000]
    print(
        f"{machine()}; medians of {repeats}, of one from {TIRING:,} rows on; load {load()}",
        flush=True,
    )
    with tempfile.TemporaryDirectory() as name:
        folder, chosen = Path(name), parts or tuple(PARTS)
        prepare(folder, jsonl, facts if set(chosen) - {"jsonl"} else [])
        size = Inputs(folder, jsonl[0]).records.stat().st_size / jsonl[0]
        print(f"{size:.0f} bytes a record")
        for each in chosen:
            part = PARTS[each]
            sizes = jsonl if part.jsonl else facts
            found = turns(each, part, folder, sizes, repeats)
            print(f"\n### {part.title}\n")
            print(table(list(rows_of(part, found))))
            print(f"\nLoad {load()}; {agreed(found)}.", flush=True)


if __name__ == "__main__":
    main()
