"""The vectors as the engine is asked about them before it is trusted."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cli.command import run

import tallystick
from tallystick import resources
from tallystick.errors import InputError, TrustError
from tallystick.lock import self_test as module
from tallystick.lock.self_test import rows_of, self_test
from tallystick.plugins.registry import installed
from tallystick.rules.loading import shipped

RULES = "skills@1.1.0"
Vectors = Callable[[object], None]


@pytest.fixture
def vectors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Vectors:
    """Puts other vectors in the place of those that ship."""

    def put(document: object) -> None:
        (tmp_path / "rows.json").write_text(json.dumps(document), encoding="utf-8")
        monkeypatch.setattr(module, "vectors_path", lambda: tmp_path / "rows.json")

    return put


def one_row(line: str, answer: object) -> object:
    """Vectors of one line."""
    return {"cases": [{"inputs": [line], "expected": [{RULES: answer}]}]}


def a_row() -> tuple[str, dict[str, Any]]:
    """A line of the vectors with a quality, and its answer."""
    return next(
        (line, dict(row))
        for line, row in rows_of(RULES)
        if row.get("quality") not in (None, "0.000000000")
    )


def test_a_self_test_asks_for_every_row_of_the_rule_set() -> None:
    cases = json.loads(resources.vectors_path().read_bytes())["cases"]
    for name in shipped(installed()):
        expected = [
            (line, json.loads(answer) if isinstance(answer, str) else answer)
            for case in cases
            for line, answers in zip(case["inputs"], case["expected"], strict=True)
            for answer in [answers.get(name)]
            if answer is not None
        ]
        assert list(rows_of(name)) == expected
        assert len(expected) > 60
    assert self_test(tallystick.load(RULES)) == len(rows_of(RULES))


@pytest.mark.parametrize("field", ["quality", "tier", "emission", "role", "axes", "record"])
def test_a_row_that_is_another_in_any_field_is_told(vectors: Vectors, field: str) -> None:
    line, row = a_row()
    vectors(one_row(line, json.dumps({**row, field: "0.000000001"})))
    with pytest.raises(TrustError, match=f"row 1 of the vectors: {field}: found") as caught:
        self_test(tallystick.load(RULES))
    assert caught.value.code == "self-test-failed"


def test_a_reject_that_is_scored_is_told(vectors: Vectors) -> None:
    line, row = a_row()
    assert set(row) == set(tallystick.load(RULES).layout.fields)
    vectors(one_row(line, {"error": "too-long"}))
    with pytest.raises(TrustError, match="row 1 of the vectors: axes: found"):
        self_test(tallystick.load(RULES))


def test_what_has_no_vectors_is_told_and_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run("rules", "set", "workflow@1.1.0", "axes.cost.gate=0.6", "-o", "mine.toml")
    found = run("lock", "--rules", "mine.toml", "--self-test", "--json")
    assert found.status == 1
    assert found.json()["code"] == "no-vectors"
    assert not Path("tallystick.lock").exists()
    assert run("lock", "--rules", "mine.toml").status == 0
    assert run("lock", "--check", "--self-test").status == 1
    assert run("lock", "--check").status == 0


def test_vectors_that_are_no_vectors_are_told(vectors: Vectors) -> None:
    vectors({})
    with pytest.raises(InputError, match="no vectors"):
        rows_of(RULES)


def test_a_self_test_says_how_many_rows_there_were(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    found = run("lock", "--rules", "workflow@1.1.0", "--self-test")
    assert found.out.startswith("workflow@1.1.0: 63 rows of the vectors are as they must be\n")
    assert run("lock", "--check", "--self-test", "--json").json()["tested"] == {
        "workflow@1.1.0": 63
    }
    assert "expected one of them" in run("lock", "--check", "--rules", "workflow@1.1.0").err
    assert "no --rules" in run("lock").err
