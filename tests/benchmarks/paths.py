"""The paths that are compared: tallystick's, and what validators would write instead."""

import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import cache, partial
from itertools import islice
from pathlib import Path
from typing import Any

import attrs
import by_hand
import floats

import tallystick
from tallystick.plugins.registry import installed
from tallystick.scoring.executors.cluster import Cluster
from tallystick.scoring.executors.executor import Executor, InProcess
from tallystick.scoring.executors.local import Local
from tallystick.scoring.facts.results import ChunkScorer
from tallystick.scoring.facts.run import extract_file
from tallystick.scoring.scorer import Scorer
from tallystick.scoring.sources import source_of
from tallystick_governance.backtest.candidates import Candidate, candidates_of, parse_sweep
from tallystick_governance.backtest.history import reader_of
from tallystick_governance.backtest.run import BacktestRun, backtest

RULES = "skills@1.0.0"
SWEPT = "axes.policy.weight"
TINY = "--tiny" in sys.argv
"""Whether the sizes only show that it works; processes of paths have the arguments too."""
SOME, MOST = (2, 3) if TINY else (8, 64)
"""Numbers of candidates."""
SAMPLE = 200 if TINY else 2_000
"""So many records are done before the clock runs."""
JUDGED, LOOPED = 2_000, 20_000
"""Slow paths are timed over so many records."""
OPEN = ExitStack()
"""What is closed when the process of a path ends."""

Told = Callable[..., None]
Found = tuple[int, float | str | None]
"""How many rows there were; the sum of the emissions, or a digest and what it is of."""


@attrs.frozen
class Inputs:
    """The files of one size, and a place for results."""

    folder: Path
    rows: int

    @property
    def records(self) -> Path:
        """JSONL."""
        return self.folder / f"{self.rows}.jsonl"

    @property
    def facts(self) -> Path:
        """The facts of the same, or more of such."""
        return self.folder / f"{self.rows}.facts.parquet"

    def output(self, name: str) -> Path:
        """A file that may be overwritten."""
        return self.folder / name


@attrs.frozen
class Way:
    """One path.

    Attributes:
        name: what it is called.
        run: does it; given a function that is to be called after each part.
        workers: how many processes work.
        against: headings, and the names of the paths that it is compared with.
        most: it is left out above so many rows, where it says nothing new in its time.
        once: whether it is timed once; those are slow beside the clock, too.
    """

    name: str
    run: Callable[[Inputs, Told], Found]
    workers: int = 1
    against: Mapping[str, str] = attrs.field(factory=dict)
    most: int = 10**7
    once: bool = False


@attrs.frozen
class Part:
    """Paths that start from the same, side by side."""

    title: str
    ways: Sequence[Way]
    unit: str = "rows/s"
    jsonl: bool = False


@cache
def scorer() -> Scorer:
    """The bound rule set."""
    return tallystick.load(RULES)


def types() -> list[Any]:
    """The skill types that it scores."""
    return [installed().skill_types[name] for name in scorer().types]


@cache
def judges() -> dict[str, Any]:
    """The validators of a validator."""
    return by_hand.judges_of({name: bound.schema for name, bound in scorer().types.items()})


@cache
def candidates(number: int) -> tuple[Candidate, ...]:
    """The baseline, and others that weigh one axis by so many hundredths more."""
    # there have to be two, of which the first is the baseline
    stop = 4 + max(1, number - 1)
    sweep = parse_sweep(f"{SWEPT}=0.05:{stop / 100:.2f}:0.01")
    return candidates_of([RULES], [sweep], installed())[:number]


@cache
def dask() -> Executor:
    """A cluster on this machine, started once."""
    from distributed import LocalCluster

    found = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0")
    return Cluster(OPEN.enter_context(found).scheduler_address)


def looped(inputs: Inputs, _: Told) -> Found:
    """json.loads and the float loop over the first records."""
    with inputs.records.open("rb") as file:
        return min(LOOPED, inputs.rows), by_hand.loop(islice(file, LOOPED))


def judged(inputs: Inputs, _: Told) -> Found:
    """The same with jsonschema and attrs."""
    with inputs.records.open("rb") as file:
        return min(JUDGED, inputs.rows), by_hand.judged(islice(file, JUDGED), judges())


def scored(executor: Callable[[], Executor] | None, inputs: Inputs, told: Told) -> Found:
    """Records to a file of results."""
    out, by = inputs.output("results.parquet"), None if executor is None else executor()
    receipt = scorer().score_file(inputs.records, out, progress=told, executor=by)
    return inputs.rows, f"results {receipt.output_digest}"


def taken(executor: Callable[[], Executor] | None, inputs: Inputs, told: Told) -> Found:
    """Records to a file of facts."""
    out, by = inputs.output("facts.parquet"), None if executor is None else executor()
    receipt = extract_file(inputs.records, out, installed(), progress=told, executor=by)
    return inputs.rows, f"facts {receipt.output_digest}"


def read(inputs: Inputs, _: Told) -> Found:
    """Facts, only read."""
    return sum(batch.lines for batch in floats.batches(inputs.facts, scorer())), None


def in_memory(inputs: Inputs, _: Told) -> Found:
    """Facts to results, batch after batch."""
    found = map(ChunkScorer(scorer()).chunk, source_of(inputs.facts))
    totals = [int(batch.column("emission").values.sum()) for batch in found]
    return inputs.rows, sum(totals) / 1e9


def counted(number: int, workers: int, inputs: Inputs, told: Told) -> Found:
    """Facts under many candidates."""
    some = candidates(number)
    executor = Local(workers) if workers > 1 else InProcess()
    found = BacktestRun(reader_of(inputs.facts, some), executor, told).outcome()
    given = found.candidates[0].types.values()
    nano = sum(each.emission.total() for each in given)
    return number * inputs.rows, nano / 1e9


def reported(number: int, inputs: Inputs, told: Told) -> Found:
    """The same into a folder with every flip and the report."""
    backtest(inputs.facts, candidates(number), inputs.output("backtest"), progress=told)
    return number * inputs.rows, None


def by_numpy(number: int, inputs: Inputs, _: Told) -> Found:
    """Facts under many candidates, in floats."""
    return number * inputs.rows, floats.numpy_backtest(inputs.facts, candidates(number))


JUDGES, LOOP = "json, jsonschema, attrs, float loop", "json, float loop, no validation"
NUMPY = "NumPy floats"
SCORED, FACTS = "JSONL → results Parquet", "JSONL → facts Parquet"
TWO = f"{SCORED}, 2 processes"
MANY = "64 candidates"
_HAND = {"× jsonschema": JUDGES, "× float loop": LOOP}
_ALONE, _LOCAL = "× one process", "× 2 processes"
PARTS = {
    "jsonl": Part(
        "From JSONL",
        [
            Way(JUDGES, judged),
            Way(LOOP, looped, against={"× jsonschema": JUDGES}),
            Way(SCORED, partial(scored, None), against=_HAND),
            Way(TWO, partial(scored, lambda: Local(2)), 2, {**_HAND, _ALONE: SCORED}),
            Way(
                f"{SCORED}, Dask, 2 workers",
                partial(scored, dask),
                2,
                {**_HAND, _ALONE: SCORED, _LOCAL: TWO},
            ),
            Way(FACTS, partial(taken, None), against=_HAND),
            Way(
                f"{FACTS}, 2 processes",
                partial(taken, lambda: Local(2)),
                2,
                {**_HAND, _ALONE: FACTS},
            ),
        ],
        jsonl=True,
    ),
    "facts": Part(
        "From facts, in memory",
        [
            Way("reading alone", read),
            Way(NUMPY, lambda i, _: (i.rows, floats.numpy_total(i.facts, scorer()))),
            Way("facts → scored", in_memory, against={"× NumPy": NUMPY}),
        ],
    ),
    "backtest": Part(
        "Back-test",
        [
            Way(f"{NUMPY}, {MANY}", partial(by_numpy, MOST), most=10**6),
            Way("1 candidate", partial(counted, 1, 1)),
            Way("8 candidates", partial(counted, SOME, 1)),
            Way(MANY, partial(counted, MOST, 1), against={"× NumPy": f"{NUMPY}, {MANY}"}),
            Way(
                f"{MANY}, 2 processes",
                partial(counted, MOST, 2),
                2,
                {"× NumPy": f"{NUMPY}, {MANY}", _ALONE: MANY},
                10**6,
                once=True,
            ),
            Way(
                f"{MANY}, with flips and report",
                partial(reported, MOST),
                against={"× NumPy": f"{NUMPY}, {MANY}"},
                most=10**6,
                once=True,
            ),
        ],
        unit="row-candidates/s",
    ),
}
"""By name."""
