"""The vectors as the engine is asked about them before it is trusted."""

import json
from pathlib import Path

import pytest
from cli.command import run

import tallystick
from tallystick import resources
from tallystick.errors import InputError, TrustError
from tallystick.lock import self_test as module
from tallystick.lock.self_test import rows_of, self_test
from tallystick.plugins.registry import installed
from tallystick.rules.loading import shipped

SHIPPED = sorted(shipped(installed()))


@pytest.mark.parametrize("name", SHIPPED)
def test_every_shipped_rule_set_has_rows_and_meets_them(name: str) -> None:
    assert self_test(tallystick.load(name)) == len(rows_of(name)) > 60


def test_the_rows_are_those_of_the_file() -> None:
    cases = json.loads(resources.vectors_path().read_bytes())["cases"]
    for name in SHIPPED:
        expected = [
            (line, json.loads(answer) if isinstance(answer, str) else answer)
            for case in cases
            for line, answers in zip(case["inputs"], case["expected"], strict=True)
            for answer in [answers.get(name)]
            if answer is not None
        ]
        assert list(rows_of(name)) == expected


@pytest.mark.parametrize("field", ["quality", "tier", "emission", "role", "axes", "record"])
def test_a_row_that_is_another_in_any_field_is_told(
    monkeypatch: pytest.MonkeyPatch, field: str
) -> None:
    rows = list(rows_of("skills@1.1.0"))
    at = next(
        n for n, (_, row) in enumerate(rows) if row.get("quality") not in (None, "0.000000000")
    )
    line, row = rows[at]
    rows[at] = line, {**row, field: "0.000000001"}
    monkeypatch.setattr(module, "rows_of", lambda _: tuple(rows))
    with pytest.raises(TrustError, match=f"row {at + 1} of the vectors: {field}: found") as caught:
        self_test(tallystick.load("skills@1.1.0"))
    assert caught.value.code == "self-test-failed"


def test_a_reject_that_is_scored_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    line, row = next(each for each in rows_of("skills@1.1.0") if "error" not in each[1])
    assert set(row) == set(tallystick.load("skills@1.1.0").layout.fields)
    monkeypatch.setattr(module, "rows_of", lambda _: ((line, {"error": "too-long"}),))
    with pytest.raises(TrustError, match="row 1 of the vectors: axes: found"):
        self_test(tallystick.load("skills@1.1.0"))


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


def test_vectors_that_are_no_vectors_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "rows.json").write_text("{}")
    monkeypatch.setattr(module, "vectors_path", lambda: tmp_path / "rows.json")
    module._rows.cache_clear()
    with pytest.raises(InputError, match="no vectors"):
        rows_of("skills@1.1.0")
    module._rows.cache_clear()


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
