"""`tallystick rules gate`: exit statuses, texts, and a receipt that a state takes."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
import rfc8785
from cli.command import Finished, message_of, run
from governance.gate.worlds import FREE, HEAD, SILENCE
from governance.lint.linted import SOUND
from state.signing import digest

import tallystick
from tallystick.resources import folder
from tallystick_state.trust.gate_receipt import GateReceipt

CLAUSES = """\
[lint]
new_findings = { errors = 0, warnings = 0, reason = "mend it, or say *why* <b>" }
new_silences = {}

[diff.version]
"""


@pytest.fixture(autouse=True)
def council(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with a policy and rule sets: an old one, one that passes, one that breaks."""
    monkeypatch.chdir(tmp_path)
    other = SOUND.replace("success = 0.6, reliability = 0.4", "success = 0.5, reliability = 0.5")
    for name, text in {"old": SOUND, "good": other, "bad": FREE + SILENCE}.items():
        version = "1.0.0" if name == "old" else "1.1.0"
        changed = text.replace('version = "1.0.0"', f'version = "{version}"')
        Path(f"{name}.toml").write_text(changed, encoding="utf-8")
    Path("policy.toml").write_text(HEAD + CLAUSES, encoding="utf-8")


def gate(new: str, *more: str) -> Finished:
    return run("rules", "gate", "policy.toml", "old.toml", new, *more)


def test_a_change_that_keeps_every_clause_passes() -> None:
    done = gate("good.toml")
    assert (done.status, done.err) == (0, "")
    lines = done.out.splitlines()
    assert lines[-1] == "passed: 3 clauses"
    assert lines[3] == "measured on nothing, as no clause is about weights"
    assert [line.split()[:2] for line in lines[5:8]] == [
        ["kept", "lint.new_findings"],
        ["kept", "lint.new_silences"],
        ["kept", "diff.version"],
    ]


@pytest.mark.nightly
def test_a_broken_clause_is_named_with_its_figure() -> None:
    done = gate("bad.toml")
    assert (done.status, done.err) == (1, "")
    last = (
        "not passed: broken: lint.new_findings (1 error, 9 warnings); lint.new_silences (1 silence)"
    )
    assert done.out.splitlines()[-1] == last
    assert "    warning free-points: skill_types.workflow.weights: a record of workflow" in done.out
    assert "why it is asked: mend it, or say *why* <b>" in done.out


@pytest.mark.nightly
def test_a_proposal_gets_markdown() -> None:
    done = gate("bad.toml", "--markdown")
    assert done.status == 1
    assert done.out.startswith("# Gate: sound@1.0.0 → sound@1.1.0\n\nnot passed: broken:")
    assert "## Broken: lint.new_findings" in done.out
    assert "Why it is asked: mend it, or say *why* \\<b>." in done.out
    assert "| `diff.version` | kept |" in done.out
    assert gate("good.toml", "--markdown").out.count("## ") == 0


@pytest.mark.nightly
def test_machines_get_the_receipt_with_the_reasons() -> None:
    told = gate("bad.toml", "--json", "--receipt", "gate.json").json()
    content = json.loads(Path("gate.json").read_bytes())
    assert told["receipt"] == digest(content)
    assert {name: told[name] for name in content} == content
    assert told["reasons"] == {"lint.new_findings": "mend it, or say *why* <b>"}
    assert not content["passed"]


def test_a_receipt_is_canonical_fits_its_schema_and_is_the_same_bytes_of_other_places(
    tmp_path: Path,
) -> None:
    here = tmp_path / "elsewhere"
    here.mkdir()
    for name in ("old", "bad"):
        (here / f"{name}.toml").write_text(Path(f"{name}.toml").read_text())
    gate("bad.toml", "--receipt", "gate.json")
    places = (here / "old.toml", here / "bad.toml")
    run("rules", "gate", "policy.toml", *places, "--receipt", "again.json")
    written = [Path(f"{name}.json").read_bytes() for name in ("gate", "again")]
    assert written[0] == written[1]
    content = json.loads(written[0])
    assert written[0] == rfc8785.dumps(content) + b"\n"
    # a state reads it
    assert GateReceipt.read(Path("gate.json")).content == content
    schema = json.loads((folder("schemas") / "gate-receipt-1.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.Draft202012Validator(schema).validate(content)
    sides = {name: content[name]["digest"] for name in ("old", "new")}
    assert sides == {
        n: tallystick.load(f"{f}.toml").digest for n, f in (("old", "old"), ("new", "bad"))
    }
    assert [each["outcome"] for each in content["clauses"]] == ["broken", "broken", "kept"]


@pytest.mark.parametrize(
    "words",
    [
        ("policy.toml", "old.toml"),
        ("policy.toml", "--receipt", "gate.json"),
        ("policy.toml", "--markdown"),
        ("policy.toml", "old.toml", "good.toml", "--json", "--markdown"),
        ("policy.toml", "old.toml", "good.toml", "facts.parquet", "--state", "state.db"),
        ("policy.toml", "old.toml", "good.toml", "a", "b"),
        (),
    ],
)
def test_wrong_use_has_its_own_status(words: tuple[str, ...]) -> None:
    done = run("rules", "gate", *words)
    assert (done.status, done.out) == (2, "")
    assert "Traceback" not in done.err
    assert not Path("gate.json").exists()


def test_rules_that_do_not_load_are_wrong_use() -> None:
    Path("none.toml").write_text("[rule_set]\n")
    for words in (("none.toml", "good.toml"), ("old.toml", "none.toml"), ("old.toml", "x@1.0.0")):
        done = run("rules", "gate", "policy.toml", *words, "--receipt", "gate.json")
        assert done.status == 2
        assert "Traceback" not in done.err
    assert not Path("gate.json").exists()


def test_a_receipt_is_not_written_over_a_link() -> None:
    Path("link.json").symlink_to("gate.json")
    assert "link" in message_of(gate("good.toml", "--receipt", "link.json"))
    assert gate("good.toml", "--receipt", "link.json", "--follow-links").status == 0
    assert Path("gate.json").exists()
