"""Proofs in a process that is ended: by time, by Ctrl-C, or by itself; what was answered stays."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import active_children
from pathlib import Path

import pytest
from cli.command import run

import tallystick
from tallystick_governance.cli import rules_prove
from tallystick_governance.prove import process
from tallystick_governance.prove.process import prove_within
from tallystick_governance.prove.property import Answer
from tallystick_governance.prove.proving import outline, prove

WORKFLOW, SKILLS = "workflow@1.1.0", "skills@1.2.0"
DUPLICATION = "no-gain-by-duplication"
# of one of these questions the solver does not end for as long as anybody waits
ENDLESS = ("rules", "prove", SKILLS, "--property", DUPLICATION, "--budget", "1000000")
REASON = "time: the 1e+06 seconds were over before it was answered"
Progress = Callable[[int, int], None]


def _questions(answers: tuple[Answer, ...]) -> list[tuple[str | None, ...]]:
    return [(a.property, a.skill_type, a.axis, a.summary) for a in answers]


@pytest.mark.parametrize(
    "reference", [WORKFLOW, pytest.param("skills@1.0.0", marks=pytest.mark.nightly)]
)
@pytest.mark.parametrize("only", [None, DUPLICATION, "consensus-unanimous", "weights-order-free"])
def test_the_questions_are_those_that_are_answered_in_their_order(
    reference: str, only: str | None
) -> None:
    scorer = tallystick.load(reference)
    asked, answered = outline(scorer, only), prove(scorer, only=only, budget=1)
    assert _questions(asked) == _questions(answered)
    assert {each.status for each in asked} <= {"undecided"}


@pytest.mark.nightly
def test_the_answers_are_those_of_one_process() -> None:
    scorer, told = tallystick.load(WORKFLOW), list[tuple[int, int]]()
    found = prove_within(scorer, 10**6, progress=lambda *each: told.append(each))
    assert found.answers == prove(scorer)
    assert found.stopped is None
    assert told == [(number, len(told)) for number in range(1, len(found.answers) + 1)]


def test_without_time_everything_is_undecided(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "Worker", None)
    reason = "time: the 0 seconds were over before it was answered"
    found = prove_within(tallystick.load(WORKFLOW), 0)
    assert {(each.status, each.reason) for each in found.answers} == {("undecided", reason)}
    done = run("rules", "prove", WORKFLOW, "--seconds", "0")
    assert done.status == 0
    asked = len(found.answers)
    assert f"time: {asked} questions not answered: --seconds N gives more" in done.out
    assert run("rules", "prove", WORKFLOW, "--seconds", "0", "--strict").status == 1
    results = run("rules", "prove", WORKFLOW, "--seconds", "0", "--json").json()["results"]
    assert {each["reason"] for each in results} == {reason}


@pytest.mark.nightly
def test_when_the_time_is_over_what_was_answered_stays() -> None:
    now = [0.0]

    def late(number: int, _total: int) -> None:
        if number == 2:
            # as if the next question took for ever
            now[0] = 10.0**9

    found = prove_within(
        scorer := tallystick.load(SKILLS),
        10**6,
        only=DUPLICATION,
        budget=10**12,
        progress=late,
        clock=lambda: now[0],
    ).answers
    assert _questions(found) == _questions(outline(scorer, DUPLICATION))
    assert [each.status for each in found[:2]] == ["proved", "proved"]
    (hard,) = (each for each in found if each.axis == "tool_poison_recall")
    assert (hard.status, hard.reason) == ("undecided", REASON)


@pytest.mark.nightly
@pytest.mark.parametrize("ends", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_keeps_what_was_answered(
    ends: signal.Signals, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def interrupted(number: int, _total: int) -> None:
        if number == 2:
            signal.raise_signal(ends)

    @contextmanager
    def bar(_doing: str) -> Iterator[Progress]:
        yield interrupted

    monkeypatch.setattr(rules_prove, "progress_bar", bar)
    saved = tmp_path / "saved.jsonl"
    done = run(*ENDLESS, "--json", "--save", saved)
    assert done.status == 128 + ends
    assert done.err == "error: stopped\n"
    results = done.json()["results"]
    assert [each["status"] for each in results[:2]] == ["proved", "proved"]
    assert {each["reason"] for each in results[2:]} == {
        "stopped: it was not answered before the end"
    }
    assert saved.read_bytes() == b""
    shown = run(*ENDLESS)
    assert shown.status == 128 + ends
    assert "  proved  counterexample  undecided\n" in shown.out


@pytest.mark.nightly
def test_what_the_search_refutes_comes_before_any_question_that_may_not_end() -> None:
    def interrupted(number: int, _total: int) -> None:
        if number == 2:
            raise KeyboardInterrupt

    scorer = tallystick.load("workflow@1.0.0")
    found = prove_within(scorer, 10**6, progress=interrupted)
    assert found.stopped is not None
    assert _questions(found.answers) == _questions(outline(scorer))
    refuted = [each for each in found.answers if each.status == "counterexample"]
    # they are not the first questions
    assert [each.property for each in refuted] == [
        "workflow/idle-earns-nothing",
        "workflow/short-plan",
    ]
    assert {each.found_by for each in refuted} == {"search"}
    assert found.answers[0].reason == "stopped: it was not answered before the end"
    assert sum(each.status == "undecided" for each in found.answers) == len(found.answers) - 2


@pytest.mark.nightly
def test_a_process_that_ends_early_is_told() -> None:
    def killed(number: int, _total: int) -> None:
        if number == 1:
            (other,) = active_children()
            other.kill()

    found = prove_within(tallystick.load(WORKFLOW), progress=killed).answers
    (reason,) = {each.reason for each in found if each.reason}
    assert reason.startswith("a worker process was killed by signal 9 before its work was done")
    assert sum(each.status != "undecided" for each in found) == 1
