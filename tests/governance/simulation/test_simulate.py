"""`tallystick simulate`: what it prints and writes, what it refuses, and proofs that it takes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from cli.command import Finished, message_of, run

import tallystick

SIZE = (
    "--miners",
    "8",
    "--epochs",
    "3",
    "--seeds",
    "2",
    "--strategy",
    "idle",
    "--strategy",
    "rush",
)
FILES = ["report.html", "responses.parquet", "summary.json"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder of its own."""
    monkeypatch.chdir(tmp_path)


def simulate(*more: str, output: str = "out") -> Finished:
    return run("simulate", "workflow@1.1.0", *SIZE, *more, "-o", output)


def test_a_change_is_told_beside_the_rules_in_force() -> None:
    done = simulate("--against", "workflow@1.0.0")
    assert (done.status, done.err) == (0, "")
    lines = done.out.splitlines()
    assert lines[1] == "    8 miners, 3 epochs, 2 networks for each strategy"
    assert lines[2].startswith("    against workflow@1.0.0  sha256:")
    assert lines[4] == "workflow"
    # E49: doing nothing was paid
    assert any("changed" in line and "idle: " in line for line in lines)
    assert sorted(path.name for path in Path("out").iterdir()) == FILES


@pytest.mark.nightly
def test_workers_give_the_same_bytes() -> None:
    alone = simulate("--json").out
    assert json.loads(simulate("--json", "--workers", "2").out) == json.loads(alone)


def test_numbers_are_those_of_every_network() -> None:
    values = json.loads(simulate("--json").out)
    (of_type,) = values["types"].values()
    rows = pq.read_table("out/responses.parquet").to_pylist()
    for response in of_type["responses"]:
        own = [row for row in rows if row["strategy"] == response["strategy"]]
        assert [row["seed"] for row in own] == [0, 1]
        assert [f"{row['pay']:.9f}" for row in own] == response["pay"]
    assert of_type["constant_answer"] is None
    assert values["assumptions"]["costs"]["honest"]["value"] == 100
    assert [row["strategy"] for row in of_type["responses"]] == ["honest", "rush", "idle"]


@pytest.mark.parametrize(
    ("rules", "strategy", "message"),
    [
        ("reward@1.0.0", "idle", "best deviation  idle, "),
        ("reward@1.0.0", "honest", "no deviation was tried"),
        ("king@1.0.0", "idle", "the miner that is tried is paid nothing for honest work"),
    ],
)
def test_records_of_one_number_have_a_study(rules: str, strategy: str, message: str) -> None:
    done = run("simulate", rules, "--epochs", "3", "--strategy", strategy, "-o", "out")
    assert (done.status, done.err) == (0, "")
    assert f"\n    {message}" in done.out


@pytest.mark.nightly
def test_a_proposal_gets_markdown() -> None:
    out = simulate("--against", "workflow@1.0.0", "--markdown").out
    assert "What miners would do under workflow@1.1.0" in out
    assert "| workflow |" in out


@pytest.mark.nightly
def test_what_no_strategy_exercised_is_told() -> None:
    words = ("simulate", "skills@1.2.0", "--type", "mcp_server", "--strategy", "idle")
    sizes = ("--miners", "4", "--epochs", "1", "--seeds", "1", "-o", "out")
    names = run(*words, *sizes, "--json").json()["not_exercised"]
    assert "event missed_deadline" in names
    assert "factor early_bonus other than 1" not in names
    sentence = f"The made-up network did not exercise: {', '.join(names)}."
    assert sentence in run(*words, *sizes, "--markdown").out.splitlines()
    assert sentence in Path("out/report.html").read_text(encoding="utf-8")
    (line,) = [t for t in run(*words, *sizes).out.splitlines() if t.startswith("not exercised  ")]
    assert line.endswith(f" and {len(names) - 8} more")


@pytest.mark.nightly
def test_the_best_constant_answer_is_told_beside_that_of_the_rules_in_force() -> None:
    done = simulate("--strategy", "constant", "--against", "workflow@1.0.0")
    lines = done.out.splitlines()
    place = next(n for n, line in enumerate(lines) if "constant answer 0.00 × honest work" in line)
    assert "before          0." in lines[place + 1]
    assert any("changed         constant: 0." in line for line in lines)
    (of_type,) = json.loads(Path("out/summary.json").read_bytes())["types"].values()
    assert of_type["constant_answer"]["mean"] == "0.000000000"
    assert of_type["constant_answer"]["submission"].keys() == {"error_handling"}


@pytest.mark.nightly
def test_counterexamples_are_strategies() -> None:
    Path("found.jsonl").write_text(json.dumps(refuting()["record"]) + "\n", encoding="utf-8")
    done = simulate("--strategy", "example:1", "--counterexamples", "found.jsonl", "--json")
    (of_type,) = json.loads(done.out)["types"].values()
    assert "example:1" in [row["strategy"] for row in of_type["responses"]]


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (("--strategy", "rash"), 2, 'found the strategy "rash", expected one of honest, rush'),
        (("--type", "python"), 2, 'found the skill type "python", expected one of workflow'),
        (
            ("--assumptions", "none.toml"),
            2,
            "none.toml: a file of assumptions cannot be read (No such file",
        ),
        (("--assumptions", "bad.toml"), 2, 'bad.toml:3: costs.rash: found "rash", expected one of'),
        (("--counterexamples", "bad.toml"), 2, "bad.toml:1: found no record, expected one as"),
        (("--state", "none.db"), 2, "none.db"),
        (("--json", "--markdown"), 2, "found --json and --markdown, expected one of them"),
        (("--epochs", "0"), 2, "0 is not in the range"),
    ],
)
def test_what_cannot_be_is_told(arguments: tuple[str, ...], status: int, message: str) -> None:
    costs = '[costs]\nrash = { value = 1, source = "nobody", assumption = true }\n'
    Path("bad.toml").write_text("format = 1\n" + costs, encoding="utf-8")
    done = simulate(*arguments)
    assert done.status == status
    assert message in done.err
    assert "Traceback" not in done.err
    assert not Path("out").exists()


def test_another_folder_is_not_written_over() -> None:
    Path("out").mkdir()
    Path("out/mine.txt").write_text("kept", encoding="utf-8")
    done = simulate()
    assert done.status != 0
    assert "out" in message_of(done)
    assert Path("out/mine.txt").read_text(encoding="utf-8") == "kept"


IDLE = "workflow/idle-earns-nothing"
STRATEGY = f"{IDLE}:1"
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


def beside(*more: str) -> Finished:
    """The rules in force and the first ones, with one strategy and others."""
    return simulate("--against", "workflow@1.0.0", *more)


def tried(rule_set: str = "1.1.0") -> set[str]:
    """The strategies that were tried under a rule set."""
    rows = pq.read_table("out/responses.parquet").to_pylist()
    return {row["strategy"] for row in rows if row["rule_set"] == f"workflow@{rule_set}"}


@pytest.mark.nightly
def test_a_counterexample_is_tried_under_both_rule_sets() -> None:
    # a law of weights has a table of miners, which is no strategy
    weights = {**refuting(), "skill_type": "weights", "record": {"miners": []}}
    done = beside("--strategy", STRATEGY, "--proofs", written("1.0.0", refuting(), weights))
    assert (done.status, done.err) == (0, "")
    assert tried() == tried("1.0.0") == {"honest", "idle", "rush", STRATEGY}
    assert "not tried" not in done.out


def test_a_proof_retires_it_under_its_own_rule_set_alone() -> None:
    proved = {**REFUTED, "status": "proved", "record": None}
    files = (written("1.0.0", refuting()), written("1.1.0", proved))
    done = beside("--strategy", STRATEGY, "--proofs", files[0], "--proofs", files[1])
    assert (done.status, done.err) == (0, "")
    assert tried() == {"honest", "idle", "rush"}
    assert tried("1.0.0") == {"honest", "idle", "rush", STRATEGY}
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
    beside("--strategy", STRATEGY, "--proofs", files[0], "--proofs", files[1])
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
    done = beside("--proofs", "none.json")
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
    assert beside(*examples, *proofs).status == 0
    assert tried() == {"honest", "idle", "rush", "example:1"}
    assert tried("1.0.0") == {"honest", "idle", "rush", "example:1", STRATEGY}
    gains = {
        row["strategy"]: row["gain"]
        for row in json.loads(Path("out/summary.json").read_bytes())["types"]["workflow"][
            "responses"
        ]
    }
    # as it is proved: the record that is saved is worth nothing under the next rules
    assert gains["example:1"] == "-1.000000000"
