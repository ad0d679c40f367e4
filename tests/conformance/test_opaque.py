"""Opaque facts that are not pure, not whole or not quick are found, each with its code."""

from __future__ import annotations

import functools
import os
import random
import signal
import socket
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from conformance.memos import Function, skill_type, subject_of, thin
from examples import fast_rows

from tallystick.diagnostics import Diagnostic
from tallystick.formula.tree import Node
from tallystick.plugins.author import SkillType, opaque
from tallystick_conformance import opaque as opaque_check
from tallystick_conformance.calls import CUT_OFF_S, answer_of
from tallystick_conformance.opaque import check, compare, golden_values, values_of
from tallystick_conformance.releases import RELEASED, Recorded, record_releases

Record = Mapping[str, Any]

_HERE = Path(__file__)


def fact(function: Function) -> Node:
    return opaque(function.__name__, low=0, high=4096)(function)


def findings(kind: SkillType, function: Function, *, scored: bool = False) -> list[Diagnostic]:
    """What is found in one process, and what a second look at its values finds."""
    subject = subject_of(kind, fact(function), scored=scored)
    found = list(check(subject))
    values = values_of(subject, {each.where for each in found})
    return [*found, *(each for each in compare(subject, values))]


# --- pure


def draws_seeded(record: Record) -> int:
    return random.Random(record["task_id"]).randint(1, 6)


def repeated(record: Record) -> int:
    words = record["submission"].get("text", "").split(" ")
    return sum(first == second for first, second in pairwise(words))


def imports(_record: Record) -> int:
    import colorsys  # that an import reads its file is no fault

    return int(colorsys.ONE_THIRD * 3)


@functools.cache
def _cached(length: int) -> int:
    return length // 2


def caches(record: Record) -> int:
    return _cached(len(record["submission"].get("text", "")))


PURE = [draws_seeded, repeated, imports, caches]

# --- not pure


def draws(_record: Record) -> int:
    return int(random.random() * 9)


def opens(_record: Record) -> int:
    with open(_HERE, encoding="utf-8") as file:  # noqa: PTH123  # the builtin is the case
        return len(file.name) % 9


def lists_a_folder(_record: Record) -> int:
    return int(any(_HERE.parent.iterdir()))


def asks_for_a_host(_record: Record) -> int:
    return len(socket.gethostname())


def starts_a_shell(_record: Record) -> int:
    return os.system("true")  # noqa: S605, S607  # the case


# --- not an integer of its range


def gives_a_float(record: Record) -> float:
    return len(record["submission"].get("words", ())) * 0 + 0.5


def gives_a_truth(record: Record) -> bool:
    return "text" in record["submission"]


def is_too_large(record: Record) -> int:
    return record["submission"]["score"] + 4090


def is_too_small(record: Record) -> int:
    return record["submission"]["score"] - 50


# --- not for every record, or not always


def raises_at_times(record: Record) -> int:
    return int(record["checks"]["note"])


def exits(_record: Record) -> int:
    sys.exit(3)


def changes_its_record(record: Record) -> int:
    record["submission"].setdefault("words", []).append("x")
    return 1


_last = [0]


def remembers(record: Record) -> int:
    before, _last[0] = _last[0], record["submission"]["score"]
    return before


# --- not quick


def never_ends(_record: Record) -> int:
    while True:
        with suppress(Exception):
            sum(range(999))


def is_cut_off_at_times(record: Record) -> int:
    if len(record["submission"].get("words", ())) > 250:
        signal.raise_signal(signal.SIGPROF)  # as the alarm does of a call that takes too long
    return 1


WHOLE = "expected an integer from 0 to 4096"
BAD = [
    (draws, "opaque-unstable", "in another process, "),
    (remembers, "opaque-unstable", "for one record, expected the same integer"),
    (opens, "opaque-file", "found a call of open '"),
    (lists_a_folder, "opaque-file", "expected none"),
    (asks_for_a_host, "opaque-network", "found a call of socket.gethostname, expected none"),
    (starts_a_shell, "opaque-process", "found a call of os.system b'true', expected none"),
    (gives_a_float, "opaque-not-integer", f"found float 0.5, {WHOLE}"),
    (gives_a_truth, "opaque-not-integer", f"found bool True, {WHOLE}"),
    (is_too_large, "opaque-out-of-range", WHOLE),
    (is_too_small, "opaque-out-of-range", WHOLE),
    (raises_at_times, "opaque-raises", f"found KeyError: 'note', {WHOLE}"),
    (exits, "opaque-raises", f"found SystemExit: 3, {WHOLE}"),
    (changes_its_record, "opaque-changes-record", "expected the record as it was"),
    (is_cut_off_at_times, "opaque-slow", "found no end for a record of "),
    pytest.param(never_ends, "opaque-slow", "found no end", marks=pytest.mark.nightly),
]


@pytest.fixture(autouse=True)
def _few_records(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let facts be tried with every eighth sample alone."""
    thin(monkeypatch, opaque_check)


@pytest.fixture(scope="module")
def kind(tmp_path_factory: pytest.TempPathFactory) -> SkillType:
    """The same for all tests, so that its samples are made once."""
    return skill_type(tmp_path_factory.mktemp("memos"))


@pytest.mark.parametrize("function", fast_rows(PURE, 0, 2), ids=lambda each: each.__name__)
def test_a_pure_fact_has_no_finding(kind: SkillType, function: Function) -> None:
    sys.modules.pop("colorsys", None)
    assert findings(kind, function) == []


@pytest.mark.parametrize(("function", "code", "message"), BAD)
def test_a_bad_fact_has_its_finding_alone(
    kind: SkillType, function: Function, code: str, message: str
) -> None:
    (found,) = findings(kind, function)
    assert (found.code, found.where) == (code, f"memo/odd@1: {function.__name__}")
    assert message in found.message
    if code not in {"opaque-slow", "opaque-file", "opaque-network", "opaque-process"}:
        assert found.evidence["record"]["skill_type"] == "memo"


def test_a_slow_call_is_told_with_its_time_and_size(
    kind: SkillType, monkeypatch: pytest.MonkeyPatch
) -> None:
    spent = [0.0]

    def reads_slowly(record: Record) -> int:
        spent[0] += len(record["submission"].get("text", "")) / 10_000
        return 1

    monkeypatch.setattr(time, "thread_time", lambda: spent[0])
    (found,) = findings(kind, reads_slowly)
    assert (found.code, found.evidence["milliseconds"]) == ("opaque-slow", 400)
    assert found.evidence["size"] > 4000
    assert found.message.startswith("found 400 ms of CPU time for a record of ")


def test_one_slow_run_of_several_says_nothing(
    kind: SkillType, monkeypatch: pytest.MonkeyPatch
) -> None:
    spent = [0.0]

    def is_slow_at_first(_record: Record) -> int:
        spent[0] += not spent[0]
        return 1

    monkeypatch.setattr(time, "thread_time", lambda: spent[0])
    assert findings(kind, is_slow_at_first) == []


def test_a_call_that_is_slow_in_one_process_alone_is_not_another_integer(
    kind: SkillType, monkeypatch: pytest.MonkeyPatch
) -> None:
    seconds, spent = [0.0], [0.0]

    def measures(record: Record) -> int:
        length = len(record["submission"].get("text", ""))
        spent[0] += seconds[0] if length else 0
        return length

    monkeypatch.setattr(time, "thread_time", lambda: spent[0])
    subject = subject_of(kind, fact(measures))
    values = values_of(subject)
    seconds[0] = 1.0
    assert list(compare(subject, values)) == []


def test_facts_are_checked_with_the_requirements_of_a_rule_set(kind: SkillType) -> None:
    def _of_order(record: Record) -> int:
        task = record["task"]
        if round(task["least"] * 10**9) >= round(task["most"] * 10**9):
            raise ValueError(task)
        return 1

    assert findings(kind, _of_order, scored=True) == []
    assert [each.code for each in findings(kind, raises_at_times, scored=True)] == ["opaque-raises"]


def test_a_released_fact_that_gives_another_integer_is_found(
    kind: SkillType, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = {"unit": 1}

    def follows_a_table(record: Record) -> int:
        return len(record["submission"].get("text", "")) // table["unit"]

    subject = subject_of(kind, fact(follows_a_table))
    values = {
        name: Recorded(formula.digest, (name,), "1.0", golden_values(subject).get(name, {}))
        for name, formula in subject.registry.formulas.items()
    }
    assert len(values["memo/odd@1"].values["follows_a_table"]) == 8
    record_releases(subject.folder, values, "1.0")
    assert list(check(subject)) == []
    monkeypatch.setitem(table, "unit", 2)
    (found,) = check(subject)
    (subject.folder / RELEASED).unlink()
    assert (found.code, found.where) == ("opaque-changed", "memo/odd@1")
    assert "of follows_a_table, expected" in found.message


def test_values_follow_from_the_records_alone(kind: SkillType) -> None:
    first, second = (subject_of(kind, fact(each)) for each in (repeated, caches))
    assert values_of(first) == values_of(first) != values_of(second)
    assert not list(compare(first, values_of(first)))


def test_a_call_is_cut_off_and_the_alarm_is_given_back() -> None:
    left = list[float]()

    def hangs(_record: Record) -> int:
        left.extend(signal.getitimer(signal.ITIMER_PROF))
        with suppress(BaseException):  # a function that goes on is cut off again
            signal.raise_signal(signal.SIGPROF)
        signal.raise_signal(signal.SIGPROF)
        return 1

    handler = signal.getsignal(signal.SIGPROF)
    assert not answer_of(hangs, dict).ended
    assert 0 < left[0] <= CUT_OFF_S + 0.1  # the kernel counts in ticks
    assert left[1] > 0
    assert signal.getsignal(signal.SIGPROF) is handler
    assert signal.getitimer(signal.ITIMER_PROF) == (0, 0)
