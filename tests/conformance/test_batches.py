"""A result that depends on what stands beside its record, or on the time, is seen."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from conformance.memos import skill_type, subject_of, thin

from tallystick.formula.columns import Column, ColumnProgram
from tallystick.plugins.author import opaque
from tallystick_conformance import batches
from tallystick_conformance.batches import check

_calls: list[int] = []


@pytest.fixture(autouse=True)
def _few_records(monkeypatch: pytest.MonkeyPatch) -> None:
    thin(monkeypatch, batches, step=3)


@opaque("calls", low=0, high=4096)
def calls(_record: Mapping[str, Any]) -> int:
    _calls.append(1)
    return len(_calls) % 2


@pytest.mark.nightly
def test_a_result_that_changes_is_told_with_its_record(tmp_path: Path) -> None:
    (found,) = check(subject_of(skill_type(tmp_path), calls, scored=True))
    assert (found.code, found.where) == ("not-repeatable", "memos@1.0.0")
    assert found.evidence["record"]["skill_type"] == "memo"


def _one_more(patch: pytest.MonkeyPatch) -> None:
    read = ColumnProgram.__call__
    patch.setattr(ColumnProgram, "__call__", lambda *given: (v := read(*given)) + (v > 5 * 10**8))


def _first_row(patch: pytest.MonkeyPatch) -> None:
    read = ColumnProgram.__call__

    def position(program: ColumnProgram, columns: list[Column], rows: int) -> Column:
        values = read(program, columns, rows)
        values[100:] = 0
        return values

    patch.setattr(ColumnProgram, "__call__", position)


@pytest.mark.parametrize(
    ("mutant", "order"), [(_one_more, "in order"), (_first_row, "with each record twice")]
)
def test_a_result_that_depends_on_others_is_told(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    mutant: Callable[[pytest.MonkeyPatch], None],
    order: str,
) -> None:
    subject = subject_of(skill_type(tmp_path), scored=True)
    mutant(monkeypatch)
    (found,) = check(subject)
    assert (found.code, found.where) == ("batch-dependent", "memos@1.0.0")
    assert f" in a batch {order}, expected " in found.message
    assert found.evidence["record"]["skill_type"] == "memo"
