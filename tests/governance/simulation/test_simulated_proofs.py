"""Counterexamples are tried, what is proved is not, and files of other rules are refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from cli.command import Finished, run

import tallystick

IDLE = "workflow/idle-earns-nothing"
STRATEGY = f"{IDLE}:1"
SIZE = ("--miners", "8", "--epochs", "3", "--seeds", "2", "--strategy", "idle")
EXAMPLES = Path(__file__).parents[3] / "plugins" / "tallystick_workflow" / "examples.jsonl"
REFUTED = {
    "property": IDLE,
    "skill_type": "workflow",
    "axis": "quality",
    "status": "counterexample",
    "summary": "nothing done earns nothing",
    "about": None,
    "other": None,
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder of its own."""
    monkeypatch.chdir(tmp_path)


def refuting() -> dict[str, Any]:
    """A counterexample with a record of the workflow."""
    record = json.loads(EXAMPLES.read_text(encoding="utf-8").splitlines()[0])
    return {**REFUTED, "record": record}


def written(version: str, *results: object) -> str:
    """A file as `rules prove --json` prints it."""
    rules = tallystick.load(f"workflow@{version}")
    heads = {"rule_set": rules.rule_set.reference, "digest": rules.digest}
    path = Path(f"proofs-{version}.json")
    path.write_text(json.dumps({**heads, "results": results}), encoding="utf-8")
    return str(path)


def simulate(*more: str) -> Finished:
    return run(
        "simulate", "workflow@1.1.0", "--against", "workflow@1.0.0", *SIZE, *more, "-o", "out"
    )


def tried(rule_set: str = "1.1.0") -> set[str]:
    """The strategies that were tried under a rule set."""
    import pyarrow.parquet as pq

    rows = pq.read_table("out/responses.parquet").to_pylist()
    return {row["strategy"] for row in rows if row["rule_set"] == f"workflow@{rule_set}"}


@pytest.mark.nightly
def test_a_counterexample_is_tried_under_both_rule_sets() -> None:
    # a law of weights has a table of miners, which is no strategy
    weights = {**refuting(), "skill_type": "weights", "record": {"miners": []}}
    done = simulate("--strategy", STRATEGY, "--proofs", written("1.0.0", refuting(), weights))
    assert (done.status, done.err) == (0, "")
    assert tried() == tried("1.0.0") == {"honest", "idle", STRATEGY}
    assert "not tried" not in done.out


def test_a_proof_retires_it_under_its_own_rule_set_alone() -> None:
    proved = {**REFUTED, "status": "proved", "record": None}
    files = (written("1.0.0", refuting()), written("1.1.0", proved))
    done = simulate("--strategy", STRATEGY, "--proofs", files[0], "--proofs", files[1])
    assert (done.status, done.err) == (0, "")
    assert tried() == {"honest", "idle"}
    assert tried("1.0.0") == {"honest", "idle", STRATEGY}
    claim = (
        f"{STRATEGY}: {IDLE} is proved of quality (nothing done earns nothing); before {STRATEGY}"
    )
    assert claim in done.out
    summary = json.loads(Path("out/summary.json").read_bytes())
    (retired,) = summary["types"]["workflow"]["retired"]
    assert retired == {
        "strategy": STRATEGY,
        "property": IDLE,
        "axis": "quality",
        "summary": "nothing done earns nothing",
    }


def test_where_all_that_was_asked_for_is_retired_nothing_else_is_tried() -> None:
    proved = {**REFUTED, "status": "proved", "record": None}
    files = (written("1.1.0", refuting(), proved),)
    options = ("--miners", "8", "--epochs", "2", "--seeds", "1", "--strategy", STRATEGY)
    done = run("simulate", "workflow@1.1.0", *options, "--proofs", *files, "-o", "out")
    assert (done.status, done.err) == (0, "")
    assert tried() == {"honest"}


@pytest.mark.nightly
def test_a_proof_of_another_value_retires_nothing() -> None:
    proved = {**REFUTED, "status": "proved", "axis": "success", "record": None}
    files = (written("1.0.0", refuting()), written("1.1.0", proved))
    simulate("--strategy", STRATEGY, "--proofs", files[0], "--proofs", files[1])
    assert STRATEGY in tried()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "none.json: No such file or directory"),
        ("{", "found no JSON"),
        ("[]", "found no results, expected what `tallystick rules prove --json` prints"),
        ('{"results": []}', "found no rule set or no digest, expected"),
        ('{"rule_set": "a", "digest": "b", "results": [1]}', "found no answer in result 1"),
        (
            '{"rule_set": "mine@1.0.0", "digest": "b", "results": []}',
            'found proofs of "mine@1.0.0" ("b"), expected those of workflow@1.0.0 or workflow@1.1',
        ),
    ],
)
def test_what_is_no_such_file_is_refused(text: str | None, message: str) -> None:
    if text is not None:
        Path("none.json").write_text(text, encoding="utf-8")
    done = simulate("--proofs", "none.json")
    assert done.status == 2
    assert message in done.err
    assert "Traceback" not in done.err
    assert not Path("out").exists()


@pytest.mark.nightly
def test_what_prove_prints_and_saves_is_taken() -> None:
    files = []
    for version, status in (("1.0.0", 1), ("1.1.0", 0)):
        save = f"found-{version}.jsonl"
        done = run(
            "rules", "prove", f"workflow@{version}", "--property", IDLE, "--json", "--save", save
        )
        assert done.status == status
        path = Path(f"proofs-{version}.json")
        path.write_text(done.out, encoding="utf-8")
        files.append(str(path))
    examples = ("--counterexamples", "found-1.0.0.jsonl", "--strategy", "example:1")
    proofs = ("--proofs", files[0], "--proofs", files[1], "--strategy", STRATEGY)
    assert simulate(*examples, *proofs).status == 0
    assert tried() == {"honest", "idle", "example:1"}
    assert tried("1.0.0") == {"honest", "idle", "example:1", STRATEGY}
    gains = {
        row["strategy"]: row["gain"]
        for row in json.loads(Path("out/summary.json").read_bytes())["types"]["workflow"][
            "responses"
        ]
    }
    # as it is proved: the record that is saved is worth nothing under the next rules
    assert gains["example:1"] == "-1.000000000"
