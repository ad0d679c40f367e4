"""The folder of a back-test: its files, and the page that a council member can read without us.

::

    DIR/summary.json          what `summary` says, with the digests of the other files
    DIR/miners.parquet        one row a candidate, skill type and miner
    DIR/migrations.parquet    one row a candidate, skill type and pair of tiers
    DIR/flips.parquet         one row a candidate and record whose gate or tier flips
    DIR/thresholds.parquet    with a replay of the epochs: the tracked thresholds of each
    DIR/reputations.parquet   the same for reputations
    DIR/incentives.parquet    with validators: one row a candidate, scenario and miner
    DIR/dividends.parquet     the same for validators
    DIR/report.html           for people

The folder takes its name whole, or not at all: the files are written in a hidden folder beside it,
which is renamed when all is done and on the disk. The same outcome gives the same bytes; those of
the plots depend on the installed extra, too.

The page holds everything that it shows and asks for nothing: its policy forbids the browser to
fetch anything, or to run another script than the one of the page, which is known by its digest.
Hotkeys, names and paths are strangers' text; templates escape every value, so that it can show as
anything and never act. Without the extra ``report`` there are no plots, and the report says how to
get them.
"""

from __future__ import annotations

import hashlib
from base64 import b64encode
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import attrs
import pyarrow as pa
from jinja2 import Environment, PackageLoader, StrictUndefined

from tallystick.canonical import digest_of_file
from tallystick.io.atomic import atomic_folder, output_errors
from tallystick.io.parquet import RowGroupWriter
from tallystick.io.text import json_text, printable, short, visible
from tallystick.numbers.text import counted, decimal, grouped, percent, points, signed
from tallystick_governance.backtest import tables
from tallystick_governance.backtest.comparison import (
    EDGES,
    CandidateComparison,
    FlipDistances,
)
from tallystick_governance.backtest.distribution import (
    MinerChange,
    gaining,
    losers,
    losing,
    winners,
)
from tallystick_governance.backtest.outcome import (
    EpochState,
    FlipRows,
    MinerTotals,
    Outcome,
    TypeOutcome,
    WeightOutcome,
)
from tallystick_governance.backtest.statistics import Interval
from tallystick_governance.backtest.summary import summary
from tallystick_governance.backtest.text import (
    GLOSSES,
    THRESHOLDS,
    Terms,
    sentences,
    span,
    warnings,
)

SUMMARY = "summary.json"
REPORT = "report.html"
ALWAYS = {
    "miners.parquet": tables.MINERS,
    "migrations.parquet": tables.MIGRATIONS,
    "flips.parquet": tables.FLIPS,
    "weights.parquet": tables.WEIGHTS,
}
REPLAYED = {"thresholds.parquet": tables.THRESHOLDS, "reputations.parquet": tables.REPUTATIONS}
ADOPTED = {"incentives.parquet": tables.INCENTIVES, "dividends.parquet": tables.DIVIDENDS}
SOMETIMES = {**REPLAYED, **ADOPTED}
FILES = frozenset({SUMMARY, REPORT, *ALWAYS, *SOMETIMES})
"""Every file that a back-test may write."""
_ROWS, _FEWEST = 2000, 20
"""The rows of miners in one report, and of one candidate at least."""
_FILTERS = (
    *(counted, decimal, grouped, percent, points, signed),
    *(gaining, losing, winners, losers),
    *(short, visible, span, warnings),
)
"""Functions by which templates show values, each under its own name."""


@attrs.define
class CandidateSection:
    """One candidate against the baseline.

    Attributes:
        comparison: the numbers.
        label: what is different about it.
        rows: how many miners its table has at most.
        changes: what becomes of each miner.
    """

    comparison: CandidateComparison
    label: str
    rows: int
    changes: list[MinerChange] = attrs.field(init=False)

    @changes.default
    def _changes(self) -> list[MinerChange]:
        return self.comparison.overall.changes()

    @property
    def sentences(self) -> Iterator[str]:
        """The candidate in words."""
        return sentences(self.comparison, self.changes)

    @property
    def migrations(self) -> Mapping[str, TypeOutcome]:
        """The types with tiers, and where the records of each tier go."""
        return {
            name: of_type.compared
            for name, of_type in self.comparison.types.items()
            if of_type.compared and of_type.compared.tiers and of_type.compared.flips.compared
        }

    def interval(self, change: MinerChange) -> Interval | None:
        """Return the interval of the change of a miner's share; None when it is unknown."""
        uncertainty = self.comparison.uncertainty
        return None if uncertainty is None else uncertainty.shares[change.miner.hotkey]

    @staticmethod
    def heat(number: int, row: Sequence[int]) -> int:
        """Return the darkness of a cell, from 0 to 3, by its part of the row."""
        return -(-3 * number // (sum(row) or 1))

    @property
    def edges(self) -> tuple[str, ...]:
        """The heads of the columns of flips at most so far from their threshold."""
        return tuple(f"within {decimal(edge, 6).rstrip('0')}" for edge in EDGES)

    @property
    def reputations(self) -> list[tuple[str, int | None, int | None]]:
        """The mean reputation of all miners in each skill type that has any, in nano.

        Before and after, at the end of a replay; None where one of the two has none.
        """
        before, after = self.comparison.before.state, self.comparison.after.state
        if before is None or after is None:
            return []
        means = (
            (name, _mean_reputation(before.final, name), _mean_reputation(after.final, name))
            for name in self.comparison.types
        )
        return [entry for entry in means if entry[1:] != (None, None)]

    @property
    def scenarios(self) -> tuple[str, ...]:
        """The scenarios of who adopts the candidate, as heads of columns."""
        incentives = self.comparison.incentives
        return tuple(scenario.name for scenario in incentives.scenarios) if incentives else ()

    @property
    def incentives(self) -> Iterator[tuple[MinerTotals, tuple[int, ...]]]:
        """The miners whose incentive changes most, and their incentive in each scenario, in nano.

        As many as the table of miners has.
        """
        incentives = self.comparison.incentives
        if incentives is None:
            return
        for miner in incentives.most_changed(self.rows):
            values = tuple(scenario.incentive[miner] for scenario in incentives.scenarios)
            yield incentives.miners[miner], values

    @property
    def miners(self) -> list[MinerChange]:
        """The miners whose share changes most, from the largest gain to the largest loss."""
        order = sorted(self.changes, key=lambda e: (-abs(e.share_change), e.miner.hotkey))
        return sorted(order[: self.rows], key=lambda e: (-e.share_change, e.miner.hotkey))


def _mean_reputation(state: EpochState, skill_type: str) -> int | None:
    reputations = [miner[skill_type] for miner in state.reputations.values() if skill_type in miner]
    return sum(reputations) // len(reputations) if reputations else None


@cache
def environment() -> Environment:
    """Return the templates: values are escaped and visible; one that is missing fails."""
    pages = Environment(
        loader=PackageLoader("tallystick_governance.backtest"),
        autoescape=True,
        finalize=_seen,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    pages.filters.update({function.__name__: function for function in _FILTERS})
    pages.globals["glosses"] = GLOSSES
    script = pages.get_template("script.js").render().encode()
    # the policy of a page allows this script alone
    pages.globals["script_digest"] = b64encode(hashlib.sha256(script).digest()).decode()
    return pages


def _seen(value: object) -> object:
    """Return text of which every character can be seen, for a template."""
    # the type itself: what is markup already was made of such text
    return printable(value) if type(value) is str else value


def plots() -> ModuleType | None:
    """Return the module `plots`; None without the extra ``report``."""
    if any(find_spec(name) is None for name in ("altair", "vl_convert")):
        return None
    from tallystick_governance.backtest import plots as found  # of the extra

    return found


def report(outcome: Outcome, comparisons: Sequence[CandidateComparison], command: str) -> str:
    """Return the report of a back-test, the whole page; arguments as of `summary`."""
    labels, rows = _labels(comparisons), max(_FEWEST, _ROWS // max(len(comparisons), 1))
    sections = [
        CandidateSection(candidate, label, rows)
        for candidate, label in zip(comparisons, labels, strict=True)
    ]
    template = environment().get_template("report.html")
    return template.render(
        outcome=outcome,
        engine=f"tallystick {version('tallystick')}",
        comparisons=comparisons,
        thresholds=THRESHOLDS[outcome.thresholds],
        labels=labels,
        sections=sections,
        plots=plots(),
        terms=Terms(),
        command=command,
    )


def _labels(comparisons: Sequence[CandidateComparison]) -> list[str]:
    """Return the changes of each candidate, when a sweep makes them; else the names."""
    names = [candidate.identity.name for candidate in comparisons]
    changes = [
        ", ".join(f"{change.path} = {change.value}" for change in candidate.identity.changes)
        for candidate in comparisons
    ]
    swept = all(changes) and len(set(changes)) == len(changes)
    return changes if swept and len(changes) > 1 else names


@attrs.frozen
class Written:
    """The folder of a back-test after it was written.

    Attributes:
        folder: as it was named.
        comparisons: of every candidate but the baseline, in order.
        digests: of every file, by name.
    """

    folder: Path
    comparisons: tuple[CandidateComparison, ...]
    digests: dict[str, str]


class Building:
    """A back-test's folder while it is written.

    Flips and epochs are taken as they come; `finish` writes what needs the whole outcome.
    """

    def __init__(self, final: Path, folder: Path, names: Sequence[str], stack: ExitStack) -> None:
        """Open the folder; `building` does that."""
        self._final, self._folder, self._names, self._stack = final, folder, names, stack
        self.distances = defaultdict[tuple[int, str], FlipDistances](FlipDistances)
        self._rows: dict[str, RowGroupWriter] = {}
        for name, schema in ALWAYS.items():
            self._open(name, schema)

    def flips(self, rows: FlipRows) -> None:
        """Take some flips; an ``OnFlips``."""
        self.distances[rows.candidate, rows.skill_type] += FlipDistances.of(rows)
        self._append("flips.parquet", tables.flip_table(rows, self._names[rows.candidate]))

    def epoch(self, state: EpochState) -> None:
        """Take the state of an epoch; an ``OnEpoch``."""
        candidate = self._names[state.candidate]
        self._append("thresholds.parquet", tables.threshold_table(state, candidate))
        self._append("reputations.parquet", tables.reputation_table(state, candidate))

    def weights(
        self, candidate: int, weights: WeightOutcome, miners: Sequence[MinerTotals]
    ) -> None:
        """Take the weights of the epochs under a candidate."""
        table = tables.weight_table(weights, self._names[candidate], miners)
        self._append("weights.parquet", table)

    def finish(
        self, outcome: Outcome, comparisons: Sequence[CandidateComparison], command: str
    ) -> Written:
        """Write everything else; arguments as of `summary`."""
        for candidate in comparisons:
            self._append("miners.parquet", tables.miner_table(candidate))
            self._append("migrations.parquet", tables.migration_table(candidate))
            if candidate.incentives is not None:
                name = candidate.identity.name
                self._append(
                    "incentives.parquet", tables.incentive_table(candidate.incentives, name)
                )
                self._append("dividends.parquet", tables.dividend_table(candidate.incentives, name))
        with output_errors(self._final):
            for rows in self._rows.values():
                rows.close()
        self._write(REPORT, report(outcome, comparisons, command))
        values = summary(outcome, comparisons, command, self._digests())
        self._write(SUMMARY, json_text(values, indent=2, sort_keys=True) + "\n")
        return Written(self._final, tuple(comparisons), self._digests())

    def _open(self, name: str, schema: pa.Schema) -> RowGroupWriter:
        with output_errors(self._final):
            texts = [field.name for field in schema if pa.types.is_string(field.type)]
            rows = self._rows[name] = RowGroupWriter(
                self._folder / name,
                schema,
                in_one_piece=False,
                compression="zstd",
                use_dictionary=texts,
            )
        self._stack.callback(rows.abandon)
        return rows

    def _append(self, name: str, table: pa.Table) -> None:
        rows = self._rows.get(name) or self._open(name, SOMETIMES[name])
        with output_errors(self._final):
            rows.append(table)

    def _write(self, name: str, text: str) -> None:
        with output_errors(self._final):
            # a path may have bytes that are no text
            (self._folder / name).write_text(
                text, encoding="utf-8", errors="backslashreplace", newline="\n"
            )

    def _digests(self) -> dict[str, str]:
        digests = {}
        for path in sorted(self._folder.iterdir()):
            with output_errors(self._final), path.open("rb") as file:
                digests[path.name] = digest_of_file(file)
        return digests


@contextmanager
def building(folder: Path, names: Sequence[str]) -> Iterator[Building]:
    """Open a back-test's folder, which takes its name when the block ends without an error.

    Args:
        folder: its final name. An earlier back-test there is replaced.
        names: of the candidates, the baseline first.

    Raises:
        OutputError: the folder cannot be written, or something else has its name; what stood there
            is as it was.
    """
    with atomic_folder(folder, FILES) as new, ExitStack() as stack:
        yield Building(folder, new, names, stack)
