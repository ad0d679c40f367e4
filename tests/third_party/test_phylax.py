"""Phylax as a stranger's plugin: every public case, every sentence of its rules, every mistake."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import pytest
from third_party import phylax_oracle as oracle
from third_party.real_projects import (
    GONE,
    VECTORS,
    answer,
    cases_of,
    module,
    mutated,
    nano,
    project,
    rules,
    told,
)

import tallystick

SUBNET = "phylax"
CASES = cases_of(SUBNET)
TRACKS = tuple(oracle.SHARES)
SHARES = "0", "0.000000001", "0.18", "0.999999999", "1", "1.5", "-0.1"
"""Shares that may be reserved; those at both ends and beyond reserve nothing."""


def task(malicious: bool | None, verdict: str | None, *findings: int, times: int = 1) -> Any:  # noqa: ANN401
    return {
        "malicious": malicious,
        "verdict": verdict,
        "findings": [*findings] or None,
        "times": times,
    }


def score(*tasks: Any) -> int:  # noqa: ANN401
    found = answer(SUBNET, "behavioural", {"tasks": tasks})["score"]
    assert found == oracle.behavioural(tasks)
    return found


def weights(*rounds: Any, reserved: tuple[str, str] = ("", "0")) -> list[dict[str, dict[str, int]]]:  # noqa: ANN401
    """What the rules make of some rounds, which is what the oracle says."""
    hotkey, share = reserved
    given = {"rounds": rounds, "reserved": {"hotkey": hotkey, "share": share}}
    found = answer(SUBNET, "allocation", given)
    previous: dict[str, Fraction] = {}
    for each, said in zip(rounds, found, strict=True):
        wanted = oracle.round_of(each, previous, (hotkey, Fraction(share)))
        previous = wanted[1]
        for name, column in zip(("new", "smoothed", "final"), wanted, strict=True):
            assert said[name] == {h: nano(w) for h, w in column.items()}, name
    return found


def given_round(scores: dict[str, dict[str, str]], *contributors: str, seed: str = "s") -> Any:  # noqa: ANN401
    seeds = {track: f"{seed}-{track}" for track in TRACKS}
    return {"scores": scores, "contributors": [*contributors], "seeds": seeds}


# ------------------------------------------------------------------------------------ the cases


@pytest.mark.nightly
def test_every_case_is_met_by_the_command() -> None:
    kept = {name: value for name, value in os.environ.items() if name != "TALLYSTICK_PLUGINS"}
    done = subprocess.run(
        [sys.executable, "-m", "tallystick_phylax", str(VECTORS)],
        cwd=project(SUBNET),
        env=kept,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert found == [{"id": name, "exact_nano": case["exact_nano"]} for name, case in CASES.items()]
    assert len(found) == 22


@pytest.mark.parametrize(
    ("name", "path", "value", "where"),
    [
        ("phylax-behavioural-01", "kind", "behaviour", "kind"),
        ("phylax-behavioural-01", "kind", GONE, "kind"),
        ("phylax-behavioural-01", "subnet", GONE, "subnet"),
        ("phylax-behavioural-01", "input.tasks", GONE, "input.tasks"),
        ("phylax-behavioural-01", "input.tasks.1.verdict", "DENY", "input.tasks[1].verdict"),
        ("phylax-behavioural-01", "input.tasks.1.malicious", "yes", "input.tasks[1].malicious"),
        ("phylax-behavioural-01", "input.tasks.1.times", 1.5, "input.tasks[1].times"),
        ("phylax-behavioural-07", "input.tasks.0.findings", [1, 3], "input.tasks[0].findings"),
        (
            "phylax-behavioural-07",
            "input.tasks.0.findings.0",
            float("nan"),
            "input.tasks[0].findings[0]",
        ),
        ("phylax-behavioural-07", "input.tasks.0.findings", [3, 1, 2], "input.tasks[0]"),
        ("phylax-vote-01", "input.repetitions", "BLOCK", "input.repetitions"),
        ("phylax-repositories-02", "input.tasks.0.0.bugs", [0, 0, 0], "input.tasks[0][0]"),
        (
            "phylax-allocation-01",
            "input.rounds.0.scores.skills.s2",
            0.4,
            "input.rounds[0].scores.skills.s2",
        ),
        ("phylax-allocation-01", "input.rounds.0.scores.tools", {}, "input.rounds[0].scores"),
        ("phylax-allocation-01", "input.rounds.0.seeds", GONE, "input.rounds[0].seeds"),
        ("phylax-allocation-08", "input.reserved.share", "a tenth", "input.reserved.share"),
        ("phylax-round-01", "input.contributors", {}, "input.contributors"),
    ],
)
def test_a_malformed_case_is_refused_by_its_name_and_path(  # noqa: PLR0913, PLR0917  # a case
    name: str,
    path: str,
    value: object,
    where: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    good = CASES["phylax-vote-04"]
    cases = [mutated(CASES[name], path, value), good]
    status, found, said = told(SUBNET, {"cases": cases}, tmp_path, capsys)
    assert status == 2
    assert found == {"phylax-vote-04": good["exact_nano"]}
    (line,) = said
    assert line.startswith(f"{name}: {where}: ")


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ("[", "cannot be read"),
        ([], "a list of cases"),
        ({"cases": {}}, "a list of cases"),
        ({"format": "other/1", "cases": []}, "format: found 'other/1'"),
        ({"cases": [[]]}, "case 1: found [], expected an object"),
        ({"cases": [{"subnet": "phylax", "kind": "vote", "input": {}}]}, "case 1: id"),
        (
            '{"cases": [{"id": "a", "id": "b", "subnet": "phylax"}]}',
            "a key that stands there twice",
        ),
    ],
)
def test_a_file_that_is_none_of_cases_is_refused(
    document: object, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, found, (line,) = told(SUBNET, document, tmp_path, capsys)
    assert (status, found) == (2, {})
    assert said in line


def test_cases_of_other_subnets_are_passed_over(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cases = [*cases_of("chutes").values(), {"id": "x", "subnet": "another", "kind": 3}]
    assert told(SUBNET, {"cases": cases}, tmp_path, capsys) == (0, {}, [])


# --------------------------------------------------------------------------------------- scores


@pytest.mark.parametrize(
    ("repetitions", "verdict"),
    [
        ([], None),
        ([None], None),
        (["ALLOW"], "ALLOW"),
        (["ALLOW", "BLOCK"], "ALLOW"),
        (["ALLOW", "WARN"], "ALLOW"),
        (["WARN", "BLOCK", None], "WARN"),
        (["BLOCK", "BLOCK", "ALLOW", "ALLOW"], "ALLOW"),
        (["BLOCK", "BLOCK", "WARN", "ALLOW"], "WARN"),
        (["BLOCK", None, "BLOCK", "ALLOW"], "BLOCK"),
        (["BLOCK"] * 4 + ["ALLOW"] * 3 + [None], "BLOCK"),
    ],
)
def test_a_verdict_is_the_lower_median_of_what_was_completed(
    repetitions: list[str | None], verdict: str | None
) -> None:
    assert answer(SUBNET, "vote", {"repetitions": repetitions}) == {"verdict": verdict}
    assert oracle.verdict(repetitions) == verdict


def test_random_tasks_score_as_the_oracle_says() -> None:
    random = Random(3)
    for _ in range(25):
        tasks = []
        for _ in range(random.randint(0, 5)):
            expected, reported = random.randint(0, 9), random.randint(0, 9)
            counts = [random.randint(0, min(expected, reported)), expected, reported]
            truth = random.choice([True, True, False, False, None])
            verdict = random.choice(["ALLOW", "ALLOW", "WARN", "BLOCK", None])
            times = random.choice([1, 2.0, random.randint(1, 12)])
            tasks.append(task(truth, verdict, *random.choice([counts, []]), times=times))
        score(*tasks)


def repositories(*tasks: Any) -> int:  # noqa: ANN401
    found = answer(SUBNET, "repositories", {"tasks": tasks})["score"]
    assert found == nano(oracle.repositories(tasks))
    return found


def test_random_repositories_score_as_the_oracle_says() -> None:
    random = Random(4)
    for _ in range(20):
        tasks = []
        for _ in range(random.randint(0, 4)):
            runs: list[Any] = []
            for _ in range(random.randint(0, 4)):
                names = random.sample([*oracle.DIMENSIONS], random.randint(1, 3))
                most = random.choice([1, 9, 900])
                sizes = {name: (random.randint(0, 9), random.randint(0, most)) for name in names}
                run = {n: [random.randint(0, min(e, r)), e, r] for n, (e, r) in sizes.items()}
                runs.append(run if random.random() < 0.8 else None)
            tasks.append(runs)
        repositories(*tasks)


@pytest.mark.parametrize(
    ("audit", "expected"),
    [
        ({"verdict_right": True, "findings": 0, "documented": 0, "files": 5}, Fraction(65, 100)),
        ({"verdict_right": True, "findings": 5, "documented": 5, "files": 9}, Fraction(1)),
        (
            {"verdict_right": False, "findings": 4, "documented": 1, "files": 2},
            Fraction(35, 100)
            * (Fraction(6, 10) * Fraction(4, 5) + Fraction(1, 10))
            * Fraction(7, 10),
        ),
        (
            {"verdict_right": True, "findings": 9, "documented": 3, "files": 1},
            (Fraction(65, 100) + Fraction(35, 100) * (Fraction(6, 10) + Fraction(4, 30)))
            * Fraction(6, 10),
        ),
        ({"verdict_right": True, "findings": 5, "documented": 5, "files": 0}, Fraction(0)),
    ],
)
def test_a_repository_without_labels_is_scored_by_its_audit(
    audit: dict[str, Any], expected: Fraction
) -> None:
    assert measured({"first": {"audit": audit}}) == expected


def test_an_audit_of_no_file_is_a_failed_run() -> None:
    good = {"verdict_right": True, "findings": 5, "documented": 5, "files": 5}
    runs = {"first": {"audit": good}, "second": {"audit": good | {"files": 0}}, "third": {}}
    assert measured(runs) == 1
    assert measured({}) == 0


def measured(checks: dict[str, Any]) -> Fraction:
    """The score of a task of the repositories, unrounded."""
    record = module(SUBNET, "__main__")._record("repositories", "5M", 1)
    record |= {"task": {}, "submission": {}, "checks": checks}
    found = rules(SUBNET).score(record).measures["f2"]
    return Fraction(found)


@pytest.mark.parametrize(
    ("changes", "code", "path"),
    [
        ({"track": "repositories"}, "track", "track"),
        ({"track": "agents"}, "not-allowed", "track"),
        (
            {"checks": {"findings": {"matched": 3, "expected": 2, "reported": 4}}},
            "one-to-one",
            "checks.findings.matched",
        ),
        (
            {"checks": {"findings": {"matched": 3, "expected": 1001, "reported": 4}}},
            "out-of-range",
            "checks.findings.expected",
        ),
    ],
)
def test_a_record_that_cannot_be_is_rejected(changes: Any, code: str, path: str) -> None:  # noqa: ANN401
    record = module(SUBNET, "__main__")._record("skills", "5M", 1)
    record |= {"task": {"malicious": True}, "submission": {"repetitions": []}, "checks": {}}
    rules(SUBNET).score(record)
    with pytest.raises(tallystick.RecordError) as caught:
        rules(SUBNET).score(record | changes)
    assert (caught.value.code, caught.value.path) == (code, path)


# -------------------------------------------------------------------------------------- weights


def test_what_is_smoothed_to_a_billionth_or_less_is_dropped() -> None:
    # 0.3 of each, of a newcomer
    new = {"a": "0.5", "on": "0.000000003", "above": "0.000000004"}
    rows = [{"hotkey": hotkey, "track": "skills"} for hotkey in new]
    said = {"salt": "", "reserved": "", "share": "0"}
    found = tallystick.allocate(
        rules(SUBNET), rows, round={"format": 1, "round": said}, given={"new": new}
    )
    assert found.nano("smooth") == {"a": 999_999_992, "above": 8} == found.weights
    assert found.carry == {"smooth": found.weights}


def test_random_rounds_are_paid_as_the_oracle_says() -> None:
    """Scores on a cut and right below it, equal ones, tracks and rounds of nobody; every share."""
    random, scored = Random(5), [0, 0.199999999, 0.2, 0.499999999, 0.5, 0.9]
    reserved = [(hotkey, share) for hotkey in ("", "treasury", "m1") for share in SHARES]
    for _ in range(10):
        rounds = []
        for seed in range(3):
            scores = {
                track: {
                    f"m{n}": f"{random.choice([*scored, random.random()]):.9f}"
                    for n in random.sample(range(12), random.randint(0, 8))
                }
                for track in random.sample(TRACKS, random.randint(0, 4))
            }
            rounds.append(
                given_round(scores, *random.sample([f"m{n}" for n in range(12)], 3), seed=f"{seed}")
            )
        weights(*rounds, reserved=random.choice(reserved))


def test_a_round_of_records_is_paid_by_the_scores_that_they_come_to() -> None:
    skills = {"a": [task(True, "BLOCK"), task(False, "ALLOW")], "b": [task(True, "ALLOW")]}
    runs = [[{"vulnerabilities": [1, 1, 1]}]]
    given = {"skills": skills, "repositories": {"r": runs, "a": [[None]]}}
    seeds = dict.fromkeys(TRACKS, "s")
    found = answer(SUBNET, "round", {**given, "contributors": ["a"], "seeds": seeds})
    assert found["scores"] == {
        "skills": {"a": 10**9, "b": 0},
        "repositories": {"r": 10**9, "a": 0},
    }
    assert found["weights"] == {"a": 489_375_000, "r": 510_625_000}


def test_a_miner_of_a_round_that_has_no_task_scores_nothing() -> None:
    given = {"skills": {"a": [], "b": [task(True, "WARN"), task(False, "ALLOW")]}, "packages": {}}
    found = answer(SUBNET, "round", {**given, "contributors": ["a"], "seeds": {}})
    assert found == {
        "scores": {"skills": {"a": 0, "b": 10**9}, "packages": {}},
        "weights": {"b": 10**9},
    }
