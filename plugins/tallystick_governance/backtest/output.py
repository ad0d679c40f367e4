"""The folder of a back-test: it takes its name whole, or not at all.

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

The files are written in a hidden folder beside it, which is renamed when all is done and on the
disk. The same outcome gives the same bytes; those of the plots depend on the installed extra, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import attrs
import pyarrow as pa

from tallystick.canonical import digest_of_file
from tallystick.errors import OutputError
from tallystick.io.atomic import atomic_folder, output_errors
from tallystick.io.parquet import RowGroupWriter
from tallystick.io.text import json_text
from tallystick_governance.backtest import tables
from tallystick_governance.backtest.bootstrap import Uncertainty
from tallystick_governance.backtest.comparison import CandidateComparison, DistanceTally, compare
from tallystick_governance.backtest.comparison_model import EpochState, FlipRows, Outcome
from tallystick_governance.backtest.incentive import Incentives
from tallystick_governance.backtest.render import report
from tallystick_governance.backtest.selection import Selection
from tallystick_governance.backtest.summary import summary

Uncertain = Callable[[Sequence[CandidateComparison]], Mapping[int, Uncertainty | None]]
"""Gives the uncertainty of some candidates, by their positions."""
Adopted = Callable[[Sequence[CandidateComparison]], Mapping[int, Incentives]]
"""Gives what some candidates do to a network, by their positions."""
SUMMARY = "summary.json"
REPORT = "report.html"
ALWAYS = {
    "miners.parquet": tables.MINERS,
    "migrations.parquet": tables.MIGRATIONS,
    "flips.parquet": tables.FLIPS,
}
REPLAYED = {"thresholds.parquet": tables.THRESHOLDS, "reputations.parquet": tables.REPUTATIONS}
ADOPTED = {"incentives.parquet": tables.INCENTIVES, "dividends.parquet": tables.DIVIDENDS}
SOMETIMES = {**REPLAYED, **ADOPTED}
FILES = frozenset({SUMMARY, REPORT, *ALWAYS, *SOMETIMES})
"""Every file that a back-test may write."""


@attrs.frozen
class Written:
    """What was written.

    Attributes:
        folder: as it was named.
        shown: every candidate but the baseline, and those that the report has in full.
        digests: of every file, by name.
        plots: whether the report has plots; they need the extra ``report``.
    """

    folder: Path
    shown: Selection
    digests: dict[str, str]
    plots: bool


class Building:
    """A back-test's folder while it is written.

    Flips and epochs are taken as they come; `finish` writes what needs the whole outcome.
    """

    def __init__(self, final: Path, folder: Path, names: Sequence[str], stack: ExitStack) -> None:
        """Open the folder; `building` does that."""
        self._final, self._folder, self._names, self._stack = final, folder, names, stack
        self._tally = DistanceTally()
        self._rows: dict[str, RowGroupWriter] = {}
        self.finished = False
        for name, schema in ALWAYS.items():
            self._open(name, schema)

    def flips(self, rows: FlipRows) -> None:
        """Take some flips; an ``OnFlips``."""
        self._tally.add(rows)
        self._append("flips.parquet", tables.flip_table(rows, self._names[rows.candidate]))

    def epoch(self, state: EpochState) -> None:
        """Take the state of an epoch; an ``OnEpoch``."""
        candidate = self._names[state.candidate]
        self._append("thresholds.parquet", tables.threshold_table(state, candidate))
        self._append("reputations.parquet", tables.reputation_table(state, candidate))

    def finish(
        self,
        outcome: Outcome,
        command: str,
        *,
        best_by: str = "share-moved",
        uncertain: Uncertain | None = None,
        adopted: Adopted | None = None,
    ) -> Written:
        """Write everything else.

        Args:
            outcome: of the whole back-test.
            command: how to do it again, for the reader of the report.
            best_by: of ``BEST_BY``, by what candidates are better or worse.
            uncertain: gives the uncertainties of candidates, of those that the report has in full.
            adopted: gives what happens while only some validators adopt these.
        """
        found = tuple(
            compare(outcome, position, self._tally)
            for position in range(1, len(outcome.candidates))
        )
        shown = Selection.of(found, best_by)
        known = uncertain(shown.full) if uncertain is not None else {}
        effects = adopted(shown.full) if adopted is not None else {}
        found = tuple(
            attrs.evolve(
                each, uncertainty=known.get(each.position), incentives=effects.get(each.position)
            )
            for each in found
        )
        shown = Selection.of(found, best_by)
        for each in found:
            self._append("miners.parquet", tables.miner_table(each))
            self._append("migrations.parquet", tables.migration_table(each))
            if each.incentives is not None:
                name = each.identity.name
                self._append("incentives.parquet", tables.incentive_table(each.incentives, name))
                self._append("dividends.parquet", tables.dividend_table(each.incentives, name))
        with output_errors(self._final):
            for rows in self._rows.values():
                rows.close()
        page = report(outcome, shown, command)
        self._write(REPORT, page.html)
        digests = self._digests()
        self._write(SUMMARY, _json(summary(outcome, found, command, digests)))
        self.finished = True
        return Written(self._final, shown, self._digests(), page.plots)

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
    """A back-test's folder, which takes its name when the block ends without an error.

    Args:
        folder: its final name. An earlier back-test there is replaced.
        names: of the candidates, the baseline first.

    Raises:
        OutputError: the folder cannot be written, or something else has its name; what stood there
            is as it was.
    """
    with atomic_folder(folder, FILES) as new, ExitStack() as stack:
        found = Building(folder, new, names, stack)
        yield found
        if not found.finished:
            raise OutputError(f"{folder}: the back-test was not finished: nothing was left")


def _json(value: object) -> str:
    return json_text(value, indent=2, sort_keys=True) + "\n"
