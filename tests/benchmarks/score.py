"""Scoring a JSONL file into Parquet, beside what a validator would write by hand.

Run as ``python tests/benchmarks/score.py [RECORDS]``. Everything runs in one process on one core,
each path three times in turn; the median and the ratio to the float loop are printed.
"""

import io
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[1]))

import jsonschema  # after the path of the generators
from float_loop import float_quality
from generators import SKILL_TYPES, lines

import tallystick
from tallystick.io.sources import JsonLinesSource
from tallystick.records.decoding import Decoder
from tallystick.scoring.facts.catalog import bound_selection
from tallystick.scoring.facts.extraction import Extractor
from tallystick.scoring.facts.results import FIELDS
from tallystick.scoring.output import Parquet, encoder
from tallystick.scoring.result import ResultLayout
from tallystick.scoring.table import ResultTable

SKILLS = [name for name in SKILL_TYPES if name != "workflow"]
LONGEST = 1_500
"""Longer records are left out: the others are 1.1 kB on average."""
JUDGED = 2_000
"""So many records go through jsonschema, which is a thousand times slower."""


def records(count: int) -> list[bytes]:
    """Seeded records of the six skill types, all with a submission."""
    found = (x.strip() for x in lines(11, 3 * count, SKILLS))
    whole = (x for x in found if len(x) < LONGEST and b'"submission"' in x and b'"checks"' in x)
    return list(islice(whole, count))


def by_hand(data: list[bytes]) -> None:
    """json.loads and the float loop, without validation and without output."""
    for line in data:
        float_quality(json.loads(line))


def judged_by_hand(data: list[bytes], judges: dict[str, Any]) -> None:
    """json.loads, jsonschema and the float loop."""
    for line in data:
        record = json.loads(line)
        judges[record["skill_type"]].is_valid(record)
        float_quality(record)


def decoded(decoder: Decoder, data: list[bytes]) -> None:
    """Decode records and let go of each, as scoring does."""
    for line in data:
        decoder.decode(line, 1)


def written(batch: ResultTable, layout: ResultLayout) -> None:
    """Write one batch as Parquet, to memory."""
    out = Parquet(io.BytesIO(), layout, shadow=False)
    out.append(encoder("parquet", layout)(batch))
    out.close()


def timed(function: Callable[[], object], rows: int) -> float:
    """Microseconds a record."""
    start = time.perf_counter()
    function()
    return (time.perf_counter() - start) / rows * 1e6


def main() -> None:
    """Print the table."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 60_000
    data = records(count)
    scorer = tallystick.load("skills@1.0.0")
    judges = {n: jsonschema.Draft202012Validator(b.schema) for n, b in scorer.types.items()}
    with tempfile.TemporaryDirectory() as folder:
        source, output = Path(folder) / "records.jsonl", Path(folder) / "results.parquet"
        source.write_bytes(b"\n".join(data) + b"\n")
        chunk = data[:12_000]
        batch = scorer.score_lines(chunk)
        extractor = Extractor(map(bound_selection, scorer.types.values()), FIELDS)
        decoder = Decoder({name: bound.schema for name, bound in scorer.types.items()})
        paths: dict[str, Callable[[], float]] = {
            "JSONL file → Parquet file": lambda: timed(
                lambda: scorer.score_file(source, output), count
            ),
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
            "  scored → Arrow": lambda: timed(batch.to_arrow, len(chunk)),
            "  scored → Parquet": lambda: timed(lambda: written(batch, scorer.layout), len(chunk)),
            "one record at a time": lambda: timed(
                lambda: [scorer.score(line) for line in chunk], len(chunk)
            ),
            "json.loads + float loop": lambda: timed(lambda: by_hand(chunk), len(chunk)),
            "json.loads + jsonschema + float loop": lambda: timed(
                lambda: judged_by_hand(data[:JUDGED], judges), min(JUDGED, count)
            ),
        }
        report(paths, len(source.read_bytes()) / count)


def report(paths: dict[str, Callable[[], float]], size: float) -> None:
    """Run every path in turn, three times, and print medians."""
    runs = [{name: path() for name, path in paths.items()} for _ in range(4)][1:]
    medians = {name: statistics.median(run[name] for run in runs) for name in paths}
    base = medians["json.loads + float loop"]
    print(f"{size:.0f} bytes a record, one core, median of 3")
    print(f"{'path':40} {'µs/record':>10} {'records/s':>10} {'× float loop':>13}")
    for name, median in medians.items():
        print(f"{name:40} {median:10.2f} {1e6 / median:10.0f} {base / median:13.2f}")


if __name__ == "__main__":
    main()
