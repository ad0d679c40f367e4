"""Opaque facts that are not pure, not whole or not quick are found, each with its code."""

from __future__ import annotations

import functools
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time as clock
import uuid
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, date, datetime
from itertools import pairwise
from pathlib import Path
from time import time
from typing import Any

import attrs
import numpy as np
import pytest
from conformance.memos import Function, skill_type, subject_of, thin
from examples import fast_rows

from tallystick.diagnostics import Diagnostic
from tallystick.formula.tree import Node
from tallystick.plugins.author import SkillType, opaque
from tallystick.records.schema import load_schema
from tallystick_conformance import opaque as opaque_check
from tallystick_conformance.cpu_time import Slowness, TooLongError, cut_off, slowness
from tallystick_conformance.opaque import check, compare, golden_values, values_of
from tallystick_conformance.purity import watching
from tallystick_conformance.releases import RELEASED, Recorded, record_releases
from tallystick_conformance.testing.record_checker import RecordChecker
from tallystick_conformance.testing.samples import of_type

Record = Mapping[str, Any]

_calls: list[int] = []
_HERE = Path(__file__)
_OPENED = _HERE.open(encoding="utf-8")


def fact(function: Function) -> Node:
    return opaque(function.__name__, low=0, high=4096)(function)


def findings(kind: SkillType, function: Function, *, scored: bool = False) -> list[Diagnostic]:
    """What is found in one process, and what a second look at its values finds."""
    subject = subject_of(kind, fact(function), scored=scored)
    found = list(check(subject))
    values = values_of(subject, {each.where for each in found})
    return [*found, *(each for each in compare(subject, values))]


def codes(kind: SkillType, function: Function) -> list[str]:
    return [each.code for each in findings(kind, function)]


# --- pure


def repeated(record: Record) -> int:
    words = record["submission"].get("text", "").split(" ")
    return sum(first == second for first, second in pairwise(words))


def sorted_set(record: Record) -> int:
    words = sorted(set(record["submission"].get("words", ())))
    return len("".join(words)) % 4096


def imports(_record: Record) -> int:
    import colorsys  # that an import reads its file is no fault

    return int(colorsys.ONE_THIRD * 3)


def paths(record: Record) -> int:
    return len(os.path.join("a", record["task_id"][:9]))  # noqa: PTH118  # pure, and watched


@functools.cache
def _cached(length: int) -> int:
    return length // 2


def caches(record: Record) -> int:
    return _cached(len(record["submission"].get("text", "")))


PURE = [repeated, sorted_set, imports, paths, caches]

# --- not pure


def reads_time(_record: Record) -> int:
    return int(time()) % 7


def reads_counter(_record: Record) -> int:
    return clock.perf_counter_ns() % 7


def reads_now(_record: Record) -> int:
    return datetime.now(tz=UTC).second


def reads_today(_record: Record) -> int:
    return date.today().day  # noqa: DTZ011  # a test of the clock


def sleeps(_record: Record) -> int:
    clock.sleep(0)
    return 1


def draws(_record: Record) -> int:
    return int(random.random() * 9)


def draws_seeded(_record: Record) -> int:
    return random.Random(4).randint(1, 6)


def draws_behind_c(_record: Record) -> int:
    return int(next(iter(random.random, 2)) * 9)


def draws_of_numpy(_record: Record) -> int:
    return int(np.random.rand() * 9)  # noqa: NPY002  # the shared generator is the case


def draws_bytes(_record: Record) -> int:
    return os.urandom(1)[0]


def draws_a_name(_record: Record) -> int:
    return uuid.uuid4().int % 9


def opens(_record: Record) -> int:
    with open(_HERE, encoding="utf-8") as file:  # noqa: PTH123  # the builtin is the case
        return len(file.name) % 9


def opens_behind_c(_record: Record) -> int:
    for file in map(open, [str(_HERE)]):
        file.close()
    return 1


def reads_what_is_open(_record: Record) -> int:
    return len(_OPENED.read(1))


def looks_for_a_file(_record: Record) -> int:
    return int(_HERE.exists())


@functools.cache
def _read_once() -> int:
    return len(_HERE.read_text()) % 9


def reads_once(_record: Record) -> int:
    return _read_once()


def prints(_record: Record) -> int:
    print(end="")  # noqa: T201  # the case
    return 1


def reads_the_environment(_record: Record) -> int:
    return len(os.environ.get("HOME", "")) % 9


def asks_for_its_process(_record: Record) -> int:
    return os.getpid() % 9


def connects(_record: Record) -> int:
    with socket.socket() as made:
        return made.type % 9


def asks_for_a_host(_record: Record) -> int:
    return len(socket.gethostname())


def starts_a_process(_record: Record) -> int:
    if not _calls:
        _calls.append(1)
        return subprocess.run([sys.executable, "--version"], check=True).returncode
    return 0


def starts_a_shell(_record: Record) -> int:
    if not _calls:
        _calls.append(1)
        return os.system("true")  # noqa: S605, S607  # the case
    return 0


def starts_a_thread(_record: Record) -> int:
    started = threading.Thread(target=int)
    started.start()
    started.join()
    return 1


def ends_the_watch(_record: Record) -> int:
    before = sys.getprofile()
    sys.setprofile(None)
    try:
        return int(time() > 0)
    finally:
        sys.setprofile(before)


# --- not an integer of its range


def gives_a_float(record: Record) -> float:
    return len(record["submission"].get("words", ())) * 0 + 0.5


def gives_a_truth(record: Record) -> bool:
    return "text" in record["submission"]


def gives_a_text(record: Record) -> str:
    return str(record["submission"]["kind"])


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


def counts_calls(_record: Record) -> int:
    _calls.append(1)
    return len(_calls) % 4096


_last = [0]


def remembers(record: Record) -> int:
    before, _last[0] = _last[0], record["submission"]["score"]
    return before


# --- not quick


def compares_all(record: Record) -> int:
    text = record["submission"].get("text", "")
    return sum(x == y for x in text for y in text) % 4096


def compares_items(record: Record) -> int:
    words = record["submission"].get("words", ())
    return sum(x == y for x in words for y in words) % 4096


def searches_back(record: Record) -> int:
    if len(record["submission"].get("words", ())) > 250:
        clock_free = 0
        while True:
            clock_free += 1
    return 1


def never_ends(_record: Record) -> int:
    while True:
        with suppress(Exception):
            sum(range(999))


def is_cut_off(_record: Record) -> int:
    signal.raise_signal(signal.SIGPROF)  # as the alarm does of a call that takes too long
    return 1


def is_cut_off_at_times(record: Record) -> int:
    if len(record["submission"].get("words", ())) > 250:
        signal.raise_signal(signal.SIGPROF)
    return 1


BAD = {
    reads_time: "opaque-clock",
    reads_counter: "opaque-clock",
    reads_now: "opaque-clock",
    reads_today: "opaque-clock",
    sleeps: "opaque-clock",
    draws: "opaque-randomness",
    draws_seeded: "opaque-randomness",
    draws_behind_c: "opaque-randomness",
    draws_of_numpy: "opaque-randomness",
    draws_bytes: "opaque-randomness",
    draws_a_name: "opaque-randomness",
    opens: "opaque-file",
    opens_behind_c: "opaque-file",
    reads_what_is_open: "opaque-file",
    looks_for_a_file: "opaque-file",
    reads_once: "opaque-file",
    prints: "opaque-file",
    reads_the_environment: "opaque-environment",
    asks_for_its_process: "opaque-environment",
    connects: "opaque-network",
    asks_for_a_host: "opaque-network",
    starts_a_process: "opaque-process",
    starts_a_shell: "opaque-process",
    starts_a_thread: "opaque-process",
    ends_the_watch: "opaque-process",
    gives_a_float: "opaque-not-integer",
    gives_a_truth: "opaque-not-integer",
    gives_a_text: "opaque-not-integer",
    is_too_large: "opaque-out-of-range",
    is_too_small: "opaque-out-of-range",
    raises_at_times: "opaque-raises",
    exits: "opaque-raises",
    changes_its_record: "opaque-changes-record",
    counts_calls: "opaque-unstable",
    remembers: "opaque-unstable",
    compares_all: "opaque-slow",
    compares_items: "opaque-slow",
    searches_back: "opaque-slow",
    never_ends: "opaque-slow",
    is_cut_off: "opaque-slow",
    is_cut_off_at_times: "opaque-slow",
}
AT_NIGHT = compares_all, never_ends, searches_back, starts_a_process
"""Those that use much CPU time, and the one of which an audit hook sees a process."""


@pytest.fixture(autouse=True)
def _few_records(monkeypatch: pytest.MonkeyPatch) -> None:
    """Facts are tried with every eighth sample, and with large ones only where that is the point.

    The calls of a fact before are forgotten.
    """
    _calls.clear()
    thin(monkeypatch, opaque_check)
    monkeypatch.setattr(opaque_check, "slowness", lambda *_: None)


@pytest.fixture
def _measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opaque_check, "slowness", slowness)


@pytest.fixture(scope="module")
def kind(tmp_path_factory: pytest.TempPathFactory) -> SkillType:
    """The same for all tests, so that its samples are made once."""
    return skill_type(tmp_path_factory.mktemp("memos"))


@pytest.mark.usefixtures("_measured")
@pytest.mark.parametrize("function", fast_rows(PURE, 0, 3), ids=lambda each: each.__name__)
def test_a_pure_fact_has_no_finding(kind: SkillType, function: Function) -> None:
    sys.modules.pop("colorsys", None)
    assert findings(kind, function) == []


@pytest.mark.parametrize(
    "function",
    [pytest.param(each, marks=pytest.mark.nightly if each in AT_NIGHT else ()) for each in BAD],
    ids=lambda each: each.__name__,
)
def test_a_bad_fact_has_its_finding_alone(
    kind: SkillType, function: Function, monkeypatch: pytest.MonkeyPatch
) -> None:
    if BAD[function] == "opaque-slow":
        monkeypatch.setattr(opaque_check, "slowness", slowness)
    assert codes(kind, function) == [BAD[function]]


def test_a_finding_names_the_formula_the_fact_and_the_call(kind: SkillType) -> None:
    (found,) = findings(kind, reads_time)
    assert found.where == "memo/odd@1: reads_time"
    assert found.message == "found a call of time.time, expected none"
    assert found.evidence == {"call": "time.time"}


def test_a_value_that_is_no_integer_is_shown_with_its_record(kind: SkillType) -> None:
    (found,) = findings(kind, gives_a_float)
    assert found.message == "found float 0.5, expected an integer from 0 to 4096"
    assert found.evidence["record"]["skill_type"] == "memo"


def test_an_error_is_shown_with_the_record(kind: SkillType) -> None:
    (found,) = findings(kind, raises_at_times)
    assert found.message == "found KeyError: 'note', expected an integer from 0 to 4096"
    assert found.evidence["record"]["checks"].get("note") is None


@attrs.define
class Clock:
    """A clock that is moved by what is measured."""

    seconds: float = 0.0

    def __call__(self) -> float:
        return self.seconds


def slowness_of(kind: SkillType, function: Function, clock: Clock) -> Slowness | None:
    checker = RecordChecker(load_schema(kind.schema), kind.requirements)
    return slowness(function, checker, of_type(kind), clock=clock)


def test_slowness_names_the_part_that_is_large(kind: SkillType) -> None:
    clock = Clock()

    def reads_slowly(record: Record) -> int:
        clock.seconds += len(record["submission"].get("text", "")) / 10_000
        return 1

    slow = slowness_of(kind, reads_slowly, clock)
    assert slow is not None
    assert (slow.place, slow.milliseconds, slow.growth) == ("submission.text", 400, None)
    assert slow.size > 4000


@pytest.mark.nightly
def test_one_slow_run_of_several_says_nothing(kind: SkillType) -> None:
    clock, runs = Clock(), list[int]()

    def is_slow_at_first(_record: Record) -> int:
        clock.seconds += not runs
        runs.append(1)
        return 1

    assert slowness_of(kind, is_slow_at_first, clock) is None


def test_growth_is_told_where_the_limit_is_kept(kind: SkillType) -> None:
    slow = slowness_of(kind, compares_items, Clock())
    assert slow is not None
    assert (slow.place, slow.milliseconds) == ("submission.words", 0)
    assert slow.growth is not None
    assert 10 < slow.growth < 30


def test_facts_are_checked_with_the_requirements_of_a_rule_set(kind: SkillType) -> None:
    def _of_order(record: Record) -> int:
        task = record["task"]
        if round(task["least"] * 10**9) >= round(task["most"] * 10**9):
            raise ValueError(task)
        return 1

    assert findings(kind, _of_order, scored=True) == []
    assert [each.code for each in findings(kind, raises_at_times, scored=True)] == ["opaque-raises"]


def test_a_plugin_without_opaque_facts_has_no_finding(kind: SkillType) -> None:
    assert list(check(subject_of(kind))) == []


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


def of_order(record: Record) -> int:
    return next(iter({hash(word) % 97 for word in ("a", "b", record["task_id"])}))


_PROGRAM = """
import sys; sys.path[:0] = [{tests!r}, {here!r}]
from pathlib import Path
from conformance.memos import skill_type, subject_of
from tallystick_conformance.opaque import values_of
import test_opaque
kind = skill_type(Path({folder!r}))
for function in (test_opaque.sorted_set, test_opaque.of_order):
    print(values_of(subject_of(kind, test_opaque.fact(function))))
"""


@pytest.mark.nightly
def test_the_values_show_the_order_of_sets(tmp_path: Path) -> None:
    places = {"tests": str(_HERE.parents[1]), "here": str(_HERE.parent), "folder": str(tmp_path)}
    first, second = (
        subprocess.run(
            [sys.executable, "-c", _PROGRAM.format(**places)],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.splitlines()
        for seed in ("1", "2")
    )
    assert first[0] == second[0]
    assert first[1] != second[1]


def test_values_follow_from_the_records_alone(kind: SkillType) -> None:
    first, second = (subject_of(kind, fact(each)) for each in (repeated, caches))
    assert values_of(first) == values_of(first) != values_of(second)
    assert not list(compare(first, values_of(first)))


@pytest.mark.parametrize("end", ["return", "raise"])
def test_a_watch_leaves_the_profile_of_others_alone(end: str) -> None:
    seen: list[str] = []

    def profile(_frame: object, event: str, _argument: object) -> None:
        seen.append(event)

    sys.setprofile(profile)
    try:
        with suppress(KeyError), watching() as acts:
            time()
            {"return": 1}[end]  # a KeyError for the other
    finally:
        after = sys.getprofile()
        sys.setprofile(None)
    assert after is profile
    assert acts == {"opaque-clock": "time.time"}
    with watching() as acts:
        pass
    time()
    assert not acts


def test_what_other_threads_do_is_not_noted() -> None:
    both = threading.Barrier(2)

    def work() -> None:
        both.wait()
        _HERE.read_bytes()
        both.wait()

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    with watching() as acts:
        both.wait()
        both.wait()
    thread.join()
    assert not acts


def test_a_call_is_cut_off_and_the_alarm_is_given_back() -> None:
    left = list[float]()

    def hang() -> None:
        with cut_off(9):
            left.extend(signal.getitimer(signal.ITIMER_PROF))
            with suppress(TooLongError):  # a function that goes on is cut off again
                signal.raise_signal(signal.SIGPROF)
            signal.raise_signal(signal.SIGPROF)

    handler = signal.getsignal(signal.SIGPROF)
    with pytest.raises(TooLongError):
        hang()
    assert 8 < left[0] < 10  # the kernel counts in ticks
    assert left[1] > 0
    assert signal.getsignal(signal.SIGPROF) is handler
    assert signal.getitimer(signal.ITIMER_PROF) == (0, 0)
