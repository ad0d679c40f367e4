"""Scoring a JSONL file into each format, beside what a validator would write by hand.

Run as ``python tests/benchmarks/score.py [RECORDS]``. Everything runs in one process, each path
three times in turn; the least CPU time and the ratio to the float loop, which writes CSV, are
printed.
"""

import csv
import io
import json
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from itertools import islice
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))

from by_hand import emission  # after the path of the generators
from generators import SKILL_TYPES, lines

import tallystick
from tallystick.io.sources import JsonLinesSource
from tallystick.records.decoding import Decoder
from tallystick.scoring.facts.extraction import Extractor
from tallystick.scoring.output import OUTPUT_FORMATS
from tallystick.scoring.result import ResultLayout
from tallystick.scoring.table import ResultTable

SKILLS = [name for name in SKILL_TYPES if name != "workflow"]
LONGEST = 1_500
"""Longer records are left out: the others are 1.1 kB on average."""
BASE = "json.loads + float loop → CSV"
"""The path that the others are compared with."""


def records(count: int) -> list[bytes]:
    """Seeded records of the six skill types, all with a submission."""
    found = (x.strip() for x in lines(11, 3 * count, SKILLS))
    whole = (x for x in found if len(x) < LONGEST and b'"submission"' in x and b'"checks"' in x)
    return list(islice(whole, count))


def written_by_hand(data: list[bytes], output: Path) -> None:
    """json.loads and the float loop, written as CSV, without validation."""
    with output.open("w", encoding="utf-8", newline="") as file:
        out = csv.writer(file)
        for number, line in enumerate(data, 1):
            record = json.loads(line)
            miner = record["miner"]
            out.writerow(
                (
                    number,
                    record["skill_type"],
                    record["task_id"],
                    miner["uid"],
                    miner["hotkey"],
                    record["role"],
                    emission(record),
                )
            )


def decoded(decoder: Decoder, data: list[bytes]) -> None:
    """Decode records and let go of each, as scoring does."""
    for line in data:
        decoder.decode(line, 1)


def written(batch: ResultTable, layout: ResultLayout) -> None:
    """Write one batch as Parquet, to memory."""
    parquet = OUTPUT_FORMATS["parquet"]
    out = parquet.writer(layout, io.BytesIO())
    out.append(parquet.encode(batch))
    out.close()


def scored_file(scorer: tallystick.Scorer, source: Path, form: str, rows: int) -> float:
    """Microseconds of CPU a record to score a file into one of a format."""
    output = source.with_name(f"results.{form}")
    return timed(lambda: scorer.score_file(source, output), rows)


def timed(function: Callable[[], object], rows: int) -> float:
    """Microseconds of CPU a record."""
    start = time.process_time()
    function()
    return (time.process_time() - start) / rows * 1e6


def main() -> None:
    """Print the table."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 60_000
    data = records(count)
    scorer = tallystick.load("skills@1.0.0")
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "records.jsonl"
        source.write_bytes(b"\n".join(data) + b"\n")
        chunk = data[:12_000]
        batch = scorer.score_lines(chunk)
        extractor = Extractor(scorer.types.values())
        decoder = Decoder({name: bound.schema for name, bound in scorer.types.items()})
        paths: dict[str, Callable[[], float]] = {
            **{
                f"JSONL file → {form} file": partial(scored_file, scorer, source, form, count)
                for form in ("csv", "jsonl", "parquet")
            },
            "  reading, hashing, splitting": lambda: timed(
                lambda: [[*chunk.items()] for chunk in JsonLinesSource(source)], count
            ),
            "  decoding and validating": lambda: timed(lambda: decoded(decoder, chunk), len(chunk)),
            "  decoding, validating, taking facts": lambda: timed(
                lambda: extractor.facts(chunk), len(chunk)
            ),
            "  lines → scored in memory": lambda: timed(
                lambda: scorer.score_lines(chunk), len(chunk)
            ),
            "  scored → Parquet": lambda: timed(lambda: written(batch, scorer.layout), len(chunk)),
            "one record at a time": lambda: timed(
                lambda: [scorer.score(line) for line in chunk], len(chunk)
            ),
            BASE: lambda: timed(
                lambda: written_by_hand(chunk, source.with_name("by-hand.csv")), len(chunk)
            ),
        }
        report(paths, len(source.read_bytes()) / count)


def report(paths: dict[str, Callable[[], float]], size: float) -> None:
    """Run every path in turn, three times, and print the least of each."""
    runs = [{name: path() for name, path in paths.items()} for _ in range(4)][1:]
    least = {name: min(run[name] for run in runs) for name in paths}
    base = least[BASE]
    print(f"{size:.0f} bytes a record, CPU time, least of 3")
    print(f"{'path':40} {'µs/record':>10} {'records/s':>10} {'× float loop':>13}")
    for name, cost in least.items():
        print(f"{name:40} {cost:10.2f} {1e6 / cost:10.0f} {base / cost:13.2f}")


if __name__ == "__main__":
    main()
