"""Failures that are planted into the engine."""

import functools
from collections.abc import Callable

from tallystick.formula.columns import Column
from tallystick.records import validator
from tallystick.records.struct_builder import Record
from tallystick.scoring.facts import extraction as loop
from tallystick.scoring.facts.batch import FactRows
from tallystick.scoring.planner import Facts, Plan
from tallystick_governance.backtest import replay

MARK = "planted"
"""The task whose record makes the engine fail."""
LATENCY = 123_456_789
"""The latency that makes columns fail."""


def failing_facts(compile_packed: Callable[..., object]) -> Callable[..., object]:
    """A compiler of functions that fail on one record."""

    @functools.wraps(compile_packed)
    def compiled(*arguments: object, **options: object) -> Callable[[Record], object]:
        function = compile_packed(*arguments, **options)

        def packed_of(record: Record) -> object:
            if record.task_id == MARK:
                raise OverflowError("planted")
            return function(record)

        return packed_of

    return compiled


def failing_validation(validate: Callable[..., None]) -> Callable[..., None]:
    """A validator that fails on one record."""

    def validated(self: object, record: dict[str, object]) -> None:
        if record.get("task_id") == MARK:
            raise KeyError("planted")
        validate(self, record)

    return validated


def failing_columns(run: Callable[..., object]) -> Callable[..., object]:
    """A plan that fails on a column with one latency."""

    def planned(self: Plan, facts: Facts, rows: int) -> object:
        def checked(digest: str) -> Column:
            column = facts(digest)
            if (column == LATENCY).any():
                raise ZeroDivisionError("planted")
            return column

        return run(self, checked, rows)

    return planned


def failing_replay(scored: Callable[..., object]) -> Callable[..., object]:
    """A failure of every replay on one record."""

    def made(self: object, rows: FactRows) -> object:
        texts = rows.task_id, rows.validator, rows.miner_hotkey
        if any(MARK in column.to_pylist() for column in texts):
            raise KeyError("planted")
        return scored(self, rows)

    return made


PLANTS = {
    "facts": (loop, "compile_packed", failing_facts),
    "columns": (Plan, "run", failing_columns),
    "validation": (validator.RecordValidator, "validate", failing_validation),
}
"""Where failures are planted, by what fails."""
REPLAY = (replay._EpochReplay, "_scored", failing_replay)
"""Where else a back-test can fail."""
