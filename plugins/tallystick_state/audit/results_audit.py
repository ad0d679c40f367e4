"""The audit of results: records are scored again, and compared with what another published.

Invariants:

- a decimal is equal only if it is the derived one exactly, as it is written: nothing is rounded;
- what a tolerance lets pass is counted apart, and never called equal;
- records and rows are read once; rows are held on the disk, by what they are matched by.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from decimal import Decimal, localcontext
from fractions import Fraction
from heapq import merge
from math import isfinite
from pathlib import Path
from typing import Any

import attrs

from tallystick.canonical import digest_of_file
from tallystick.errors import InputError, NumberError
from tallystick.io.documents import read_json
from tallystick.io.inputs import opened
from tallystick.io.paths import receipt_beside
from tallystick.io.sources import Chunk, Source
from tallystick.json_values import JsonKey, json_object
from tallystick.numbers import ratio
from tallystick.numbers.nano import NANO
from tallystick.records.messages import NOTHING
from tallystick.scoring.explanation import Explanation
from tallystick.scoring.facts.file import FactsChunk
from tallystick.scoring.facts.results import ChunkScorer
from tallystick.scoring.output import json_lines
from tallystick.scoring.scorer import Scorer
from tallystick.scoring.sources import source_of
from tallystick_state.audit.published import (
    AXES,
    MEASURES,
    OF_RECORDS,
    TEXTS,
    WHOLE,
    ColumnMapping,
    Numbered,
    Row,
    RowIndex,
    Value,
    flat,
    has_columns,
    is_decimal,
    rows_of,
)

EQUAL, WITHIN, DIFFERS = "equal", "within-tolerance", "differs"
CODES = {
    "duplicate-row": "a row is of a record that an earlier row is of",
    "extra-row": "a row is of no record",
    "missing-row": "a record is scored here, and no row is of it",
    "other-value": "a field has another value",
    "rejected-here": "a row is of a record that is rejected here",
}
"""Differences of results, by code."""

_NUMBER = re.compile(r"[+-]?[0-9]{1,400}(\.[0-9]{1,400})?([eE][+-]?[0-9]{1,3})?")
_MOST = 400
"""Numbers of more digits, before or behind the point, are none that a result has."""


def decimal(value: Fraction) -> str:
    """Return a number as a decimal of at most 18 significant digits."""
    with localcontext(prec=18):
        number = Decimal(value.numerator) / Decimal(value.denominator)
    return f"{number:f}" if number.adjusted() > -18 else str(number)


def _decimal(value: Fraction | None) -> str | None:
    return None if value is None else decimal(value)


@json_object(
    *("code", "record", "line", "field", "found", "derived"),
    JsonKey("distance", form=_decimal),
)
@attrs.frozen
class Finding:
    """A difference between a row and the result of its record.

    Attributes:
        code: of `CODES`.
        record: the number of the record; None of a row that is of none.
        line: that of the row; None where there is no row.
        field: the field, where one differs.
        found: what was published.
        derived: what the record comes to; of a rejected one the code of the reject.
        distance: how far a published number is from the derived one; None where it is none.
    """

    code: str
    record: int | None
    line: int | None
    field: str | None = None
    found: str | None = None
    derived: str | None = None
    distance: Fraction | None = None


@json_object(
    *("verdict", "rule_set", "digest", "records", "rejected", "rows", "equal", "within_tolerance"),
    JsonKey("differ", form=lambda differ: dict(sorted(differ.items()))),
    *("fields", JsonKey("largest", form=decimal), "first", "explanation", "receipt"),
)
@attrs.define(eq=False)
class ResultsAudit:
    """The result of an audit of results, which grows as records are compared.

    Attributes:
        rule_set: by which records were scored.
        digest: of it.
        records: how many records there were.
        rejected: how many of them are rejected here.
        rows: how many rows were published.
        equal: how many rows are what their records come to.
        within_tolerance: how many differ by no more than the tolerance.
        differ: how many findings there are, by code.
        fields: the fields that were compared.
        largest: the largest distance of a number; 0 where none differs.
        first: the first difference; where there is none, the first that only a tolerance let pass.
        explanation: every step behind the score of its record, where that can be scored.
        receipt: whether the receipt beside the results names the same, by name; None without one.
    """

    rule_set: str
    digest: str
    records: int = 0
    rejected: int = 0
    rows: int = 0
    equal: int = 0
    within_tolerance: int = 0
    differ: Counter[str] = attrs.field(factory=Counter)
    fields: tuple[str, ...] = ()
    largest: Fraction = Fraction(0)
    first: Finding | None = None
    explanation: Explanation | None = None
    receipt: Mapping[str, bool] | None = None

    @property
    def verdict(self) -> str:
        """``equal``, ``within-tolerance`` or ``differs``."""
        return DIFFERS if self.differ else WITHIN if self.within_tolerance else EQUAL


@attrs.frozen
class _Derived:
    """The outcome of a record.

    Attributes:
        record: its number.
        row: of its result, as a file of results has it; of a reject its number alone.
        code: of its reject; empty where it is scored.
        chunk: which it is of.
    """

    record: int
    row: Row
    code: str
    chunk: Chunk

    @property
    def item(self) -> Any:  # noqa: ANN401  # a line, or a row as a mapping
        """The record itself."""
        return self.chunk.items()[self.record - self.chunk.first]


def audit_results(  # noqa: PLR0913  # what an audit needs
    scorer: Scorer,
    records: Path,
    results: Path,
    *,
    mapping: ColumnMapping | None = None,
    tolerance: Fraction = Fraction(0),
    tell: Callable[[Finding], None] = lambda _: None,
    progress: Callable[[int, int], None] | None = None,
) -> ResultsAudit:
    """Score records again and compare what comes of it with published results.

    Args:
        scorer: the rule set.
        records: a file or a folder of records, or of facts.
        results: the published rows, in JSONL, CSV or Parquet.
        mapping: what their columns mean; by default they are those of result rows.
        tolerance: how far a number may be from the derived one without a difference.
        tell: is told every finding, those within the tolerance too.
        progress: told how many bytes of the records of how many were read.

    Raises:
        InputError: a file cannot be read, rows are in no order, or have no field to compare.
    """
    answer = ResultsAudit(scorer.rule_set.reference, scorer.digest)
    audit = _Audit(scorer, results, mapping or ColumnMapping(), tolerance, tell, answer)
    source = source_of(records)
    audit.compare(audit.derived(source, progress))
    answer.receipt = _receipt(results, scorer.digest, source.digest)
    return answer


@attrs.frozen(eq=False)
class _Audit:
    """An audit while it goes on, which fills its answer."""

    scorer: Scorer
    results: Path
    mapping: ColumnMapping
    tolerance: Fraction
    tell: Callable[[Finding], None]
    answer: ResultsAudit

    def derived(
        self, source: Source, progress: Callable[[int, int], None] | None
    ) -> Iterator[_Derived]:
        """Yield the outcome of each record, in order."""
        scoring = ChunkScorer(self.scorer)
        for chunk in source:
            batch = scoring.chunk(chunk)
            rows = map(json.loads, json_lines(batch).splitlines())
            scored = (_Derived(row["record"], flat(row), "", chunk) for row in rows)
            rejected = (
                _Derived(reject.line, {"record": reject.line}, reject.code, chunk)
                for reject in batch.rejects
            )
            self.answer.records += len(batch) + len(batch.rejects)
            self.answer.rejected += len(batch.rejects)
            yield from merge(scored, rejected, key=lambda item: item.record)
            if progress is not None:
                progress(source.bytes_read, source.size)

    def compare(self, derived: Iterator[_Derived]) -> None:
        """Compare the records with their rows, then note the rows that are of no record."""
        by = self.mapping.by
        with closing(RowIndex((self._key(row), row) for row in self._read())) as index:
            for item in derived:
                key = [_key(value) for value in _named(item, by)]
                taken, first = index.take(key, item.record)
                if first != item.record:
                    raise InputError(
                        f"found the records {first} and {item.record} with the same "
                        f"{', '.join(by)}, expected one: match rows by more columns"
                    )
                self._judge(item, taken)
            for (line, row), is_twice in index.left():
                code = "duplicate-row" if is_twice else "extra-row"
                number = self._number(line, row) if by == ("record",) else None
                self._note(Finding(code, number, line), None)

    def _key(self, numbered: Numbered) -> list[str]:
        """Return the values that a row is matched by, as text."""
        if self.mapping.by == ("record",):
            return [str(self._number(*numbered))]
        return [_key(self.mapping.value(field, numbered[1])) for field in self.mapping.by]

    def _number(self, line: int, row: Row) -> int:
        """Return the number of the record of a row."""
        column = self.mapping.column("record")
        value = row.get(column)
        number = exact_of(value)
        if number is None or number.denominator != 1 or number < 1:
            text = NOTHING if value is None else repr(value) if isinstance(value, str) else value
            problem = f"{text} for {column}, expected the number of a record"
            raise InputError(f"{self.results}:{line}: found {problem}")
        return int(number)

    def _read(self) -> Iterator[Numbered]:
        for line, row in rows_of(self.results):
            self.answer.rows += 1
            if not self.answer.fields:
                self.answer.fields = self._fields_of(row)
            yield line, row

    def _fields_of(self, row: Row) -> tuple[str, ...]:
        """Return the fields to compare: those of the mapping, or else of any row."""
        columns, by = self.mapping.columns, self.mapping.by
        named: Iterable[str] = row if columns is None else columns
        if columns is None and not has_columns(self.results):
            if not self.results.is_file():
                raise InputError(
                    f"{self.results}: found a pipe, expected a file, as its lines are read twice: "
                    "write one, or name the columns by a mapping"
                )
            # what the first line leaves out, others may state
            named = dict.fromkeys(name for _, each in rows_of(self.results) for name in each)
        candidates = (name for name in named if self._is_decimal(name) or name in (*TEXTS, *WHOLE))
        fields = [name for name in candidates if name not in by]
        if not any(map(self._is_decimal, fields)):
            raise InputError(
                f"{self.results}: found no column of scores, expected some of those of a row of "
                "results, or a mapping"
            )
        if columns is None and not has_columns(self.results):
            # a line has the axes and the measures of its own type alone
            layout = self.scorer.layout
            fields += [AXES + name for name in layout.axes]
            fields += [MEASURES + name for name in layout.measures]
        return tuple(dict.fromkeys(fields))

    def _is_decimal(self, field: str) -> bool:
        return is_decimal(field, self.scorer.layout.decimals)

    def _judge(self, each: _Derived, numbered: Numbered | None) -> None:
        """Count a row as equal, as within the tolerance, or as another."""
        if numbered is None:
            if not each.code:
                self._note(Finding("missing-row", each.record, None), each)
            return
        line, row = numbered
        if each.code:
            derived = f"rejected: {each.code}"
            self._note(Finding("rejected-here", each.record, line, derived=derived), each)
            return
        # of nearly all rows every value is the same
        is_same = self.mapping.columns is None and row == each.row
        findings = [] if is_same else [*self._unlike(each, line, row)]
        distances = [one.distance for one in findings if one.distance is not None]
        self.answer.largest = max([self.answer.largest, *distances])
        outside = [one for one in findings if one.distance is None or one.distance > self.tolerance]
        if not findings:
            self.answer.equal += 1
        elif not outside:
            self.answer.within_tolerance += 1
            if self.answer.first is None:
                self._keep(findings[0], each)
        else:
            self._note(outside[0], each)
            findings.remove(outside[0])
        for one in findings:
            self.tell(one)

    def _unlike(self, each: _Derived, line: int, row: Row) -> Iterator[Finding]:
        """Yield the fields of a row that are others than the derived ones."""
        for field in self.answer.fields:
            derived, theirs = each.row.get(field), self.mapping.value(field, row)
            distance = self._distance(field, derived, theirs)
            if distance != 0:
                # the number of a miner is no measure: no tolerance lets another pass
                measured = distance if self._is_decimal(field) else None
                found, text = (None if value is None else str(value) for value in (theirs, derived))
                yield Finding("other-value", each.record, line, field, found, text, measured)

    def _distance(self, field: str, derived: Value, theirs: Value) -> Fraction | None:
        """Return the distance of two values; None where they differ and one is no number."""
        if field in TEXTS or theirs is None or derived is None:
            return Fraction(0) if theirs == derived else None
        is_ratio = isinstance(theirs, str) and ratio.is_ratio(theirs)
        in_nano = self.mapping.in_nano and self._is_decimal(field) and not is_ratio
        # most are written as here; other spellings of numbers are compared as numbers
        if not in_nano and type(theirs) in (str, int) and str(theirs) == str(derived):
            return Fraction(0)
        here, there = exact_of(derived), exact_of(theirs)
        if here is None or there is None:
            return None
        return abs((there / NANO if in_nano else there) - here)

    def _note(self, finding: Finding, each: _Derived | None) -> None:
        """Count a finding that makes the results others, and keep the first."""
        if not self.answer.differ:
            self._keep(finding, each)
        self.answer.differ[finding.code] += 1
        self.tell(finding)

    def _keep(self, finding: Finding, each: _Derived | None) -> None:
        """Keep a finding with every step behind the score of its record, unless that is gone."""
        self.answer.first, self.answer.explanation = finding, None
        if each is not None and not each.code and not isinstance(each.chunk, FactsChunk):
            self.answer.explanation = self.scorer.explain(each.item, line=each.record)


def exact_of(value: Value | Fraction) -> Fraction | None:
    """Return a number as it is written; None of what is no number that a result can have."""
    if isinstance(value, str) and ratio.is_ratio(value):
        with suppress(NumberError):
            return ratio.from_text(value)
        return None
    if isinstance(value, str):
        return exact_of(Decimal(value)) if _NUMBER.fullmatch(value) else None
    if value is None or isinstance(value, bool):
        return None
    if isinstance(value, float):
        return Fraction(value) if isfinite(value) else None
    if isinstance(value, Decimal) and not (value.is_finite() and abs(value.adjusted()) < _MOST):
        return None
    return Fraction(value)


def _key(value: Value) -> str:
    """Return a value that rows are matched by, as text."""
    number = None if isinstance(value, str) else exact_of(value)
    return str(value if number is None else number)


def _named(each: _Derived, names: Sequence[str]) -> list[Value]:
    """Return the values of a record that rows are matched by."""
    if set(OF_RECORDS).isdisjoint(names) or each.code:
        return [each.row.get(name) for name in names]
    if isinstance(each.chunk, FactsChunk):
        raise InputError(f"found facts, expected records: rows are matched by {', '.join(names)}")
    record = json.loads(each.item) if isinstance(each.item, bytes) else each.item
    return [(record if name in OF_RECORDS else each.row).get(name) for name in names]


def _receipt(results: Path, digest: str, input_digest: str) -> dict[str, bool] | None:
    """Compare the receipt beside the results; it is reported and never trusted."""
    try:
        receipt = read_json(receipt_beside(results))
        with opened(results) as file:
            output = digest_of_file(file)
    except (OSError, ValueError, InputError):
        return None
    if not isinstance(receipt, dict):
        return None
    expected = {"rule_set": digest, "input": input_digest, "output": output}
    keys = {"rule_set": "rule_set_digest", "input": "input_digest", "output": "output_digest"}
    return {name: receipt.get(keys[name]) == value for name, value in expected.items()}
