"""A reader that differs from the others is seen, and good plugins have no finding."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import pytest
from conformance.memos import skill_type, subject_of, thin

from tallystick.diagnostics import Diagnostic
from tallystick.errors import FormulaError
from tallystick.scoring import explanation
from tallystick.scoring.explanation import Explanation
from tallystick.scoring.value import Value
from tallystick_conformance import backend_equivalence, batches, opaque
from tallystick_conformance.loading import Subject

Patch = pytest.MonkeyPatch


@pytest.fixture
def subject(tmp_path: Path, monkeypatch: Patch) -> Subject:
    """A good one, tried with few samples."""
    thin(monkeypatch, backend_equivalence, batches, opaque)
    return subject_of(skill_type(tmp_path), scored=True)


def every(subject: Subject) -> list[Diagnostic]:
    return [*backend_equivalence.check(subject), *batches.check(subject), *opaque.check(subject)]


def test_a_good_plugin_has_no_finding(subject: Subject) -> None:
    assert every(subject) == []


def _above(read: Callable[..., Any]) -> Callable[..., Any]:
    """A reader that gives one nano too much for values above a half."""
    return lambda *given: (value := read(*given)) + (value * 2 > 10**9) * 1


def test_a_reader_that_is_wrong_is_seen_and_its_numbers_told(
    subject: Subject, monkeypatch: Patch
) -> None:
    monkeypatch.setattr(Value, "nano", _above(Value.nano))
    found = next(backend_equivalence.check(subject))
    assert (found.code, found.where) == ("readers-disagree", "memos@1.0.0: memo: style")
    assert found.evidence["record"]["skill_type"] == "memo"
    exact, integers = found.evidence["exact"], found.evidence["integers"]
    assert exact == integers - 1
    assert found.message == f"found exact {exact}, integers {integers} (nano), expected one number"


def test_a_reader_that_fails_differs_from_the_others(subject: Subject, monkeypatch: Patch) -> None:
    def fail(*_given: object) -> None:
        raise FormulaError("planted")

    monkeypatch.setattr(Value, "nano", fail)
    found = next(backend_equivalence.check(subject))
    assert found.code == "readers-disagree"
    assert found.evidence["integers"] == "FormulaError: planted"


def test_an_explanation_that_fails_is_told(subject: Subject, monkeypatch: Patch) -> None:
    def fail(*_given: object) -> None:
        raise FormulaError("planted")

    monkeypatch.setattr(explanation, "explain", fail)
    (found,) = backend_equivalence.check(subject)
    assert found.code == "text-unreadable"
    assert found.message == "found FormulaError: planted, expected an explanation"


def test_an_explanation_of_another_result_is_told(subject: Subject, monkeypatch: Patch) -> None:
    explain = explanation.explain

    def other(*given: Any) -> Explanation:  # noqa: ANN401  # passed on as they are
        found = explain(*given)
        return attrs.evolve(found, result=attrs.evolve(found.result, task_id="another"))

    monkeypatch.setattr(explanation, "explain", other)
    (found,) = backend_equivalence.check(subject)
    assert found.message == "found another result in the explanation, expected that of the record"
