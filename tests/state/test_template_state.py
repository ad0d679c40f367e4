"""The state file of the subnet template begins a state."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cli.command import ROOT, run

from tallystick.errors import InputError
from tallystick_state.ledger import Ledger
from tallystick_state.template_state import TemplateState

HOTKEYS = ("hk-0", "hk-1", "hk-2", "hk-3")
SCORES = (0.0, 0.25, 0.1, 0.7)
MEAN = '{ name = "mean", do = "collect", value = "quality", as = "mean", last = 100, '
AVERAGE = """{ name = "new", do = "collect", value = "quality", as = "mean", empty = 0 },
  { name = "mean", do = "average", of = "new", new = 0.1, leaver = "drop", normalise = false, """


def saved(folder: Path, **arrays: Any) -> Path:  # noqa: ANN401  # arrays of any kind
    path = folder / "state.npz"
    template = {
        "step": np.int64(7),
        "scores": np.array(SCORES, dtype=np.float32),
        "hotkeys": np.array(HOTKEYS, dtype="<U48"),
    }
    np.savez(path, **{name: a for name, a in (template | arrays).items() if a is not None})
    return path


@pytest.fixture
def averaged(tmp_path: Path) -> Path:
    """The shipped rules with a moving average in the place of the mean."""
    text = (ROOT / "rules" / "reward" / "1.0.0.toml").read_text(encoding="utf-8")
    text = text.replace('name = "reward"\n', 'name = "averaged"\n', 1)
    before, after = text.split(MEAN)
    rules = tmp_path / "averaged.toml"
    rules.write_text(before + AVERAGE + after.removeprefix("empty = 0, "), encoding="utf-8")
    return rules


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_the_window_of_a_mean_begins_full_of_the_score(tmp_path: Path, kind: type) -> None:
    carry = saved(tmp_path, scores=np.array(SCORES, dtype=kind))
    with (
        Ledger.create(tmp_path / "s.db", "reward@1.0.0", carry=carry) as ledger,
        ledger.queries() as queries,
    ):
        weights = queries.weights()
    assert weights.uids == (1, 2, 3)
    # 0.7 of 1.05 is cut to a half
    assert [f"{weight:.6f}" for weight in weights.weights] == ["0.357143", "0.142857", "0.500000"]


def test_an_average_begins_with_the_score_of_nine_places(tmp_path: Path, averaged: Path) -> None:
    with (
        Ledger.create(tmp_path / "s.db", averaged, carry=saved(tmp_path)) as ledger,
        ledger.queries() as queries,
    ):
        carried = queries.state.carry["averaged"]["mean"]
    # of float32: 0.7 is 0.699999988 there
    assert carried == {"hk-1": 250_000_000, "hk-2": 100_000_001, "hk-3": 699_999_988}


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        (
            {"scores": np.array([0, np.nan, -0.5, 0.7])},
            r"hk-1 \(uid 1\) has nan, hk-2 \(uid 2\) has -0.5;",
        ),
        (
            {"scores": np.array([0, np.inf, 1.5, 0.7])},
            r"hk-1 \(uid 1\) has inf, hk-2 \(uid 2\) has 1.5;",
        ),
        ({"scores": np.array([0.5])}, "found 1 scores of 4 hotkeys"),
        ({"scores": np.array([[0.5] * 4])}, "scores of 2 dimensions of float64"),
        ({"scores": np.array([1, 0, 1, 0])}, "scores of 1 dimensions of int64"),
        ({"hotkeys": np.array([1, 2, 3, 4])}, "hotkeys of 1 dimensions of int64"),
        ({"hotkeys": np.array(["hk", "hk", "hk", "hk"])}, "found hk with the uids 1 and 2"),
        ({"hotkeys": None}, "found no hotkeys, expected the state.npz of a validator"),
        ({"scores": np.array([object()] * 4)}, "cannot be read"),
    ],
)
def test_what_is_no_state_of_a_validator_is_refused(
    tmp_path: Path, arrays: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        Ledger.create(tmp_path / "s.db", "reward@1.0.0", carry=saved(tmp_path, **arrays))
    assert not (tmp_path / "s.db").exists()


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        (["skills@1.2.0"], "for rules of the types agent_composition, .* of one type: write"),
        (["reward@1.0.0", "workflow@1.2.0"], "for rules of the types reward, workflow"),
    ],
)
def test_rules_without_one_place_for_a_score_are_refused(
    tmp_path: Path, rules: list[str], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        Ledger.create(tmp_path / "s.db", rules, carry=saved(tmp_path))


def test_hotkeys_that_have_lost_their_slots_are_left_out(tmp_path: Path) -> None:
    template = TemplateState.read(saved(tmp_path))
    held, gone = template.held({0: "hk-0", 1: "hk-1", 2: "hk-3", 3: "hk-9"})
    assert [*held.scores] == [(1, "hk-1")]
    assert gone == ("hk-2", "hk-3")


def test_the_command_says_what_it_took(tmp_path: Path) -> None:
    done = run(
        *("state", "init", "--rules", "reward@1.0.0", "--carry", str(saved(tmp_path))),
        *("--state", str(tmp_path / "s.db")),
    )
    assert (done.status, done.err) == (0, "")
    assert "with 3 carried miners and 300 records" in done.out
