"""Weights of a back-test are those of a ledger, and what changes them is told by how much."""

import json
import random
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import attrs
import pytest
from generators import lines as made_up_lines
from governance.backtest.histories import (
    EPOCHS,
    MINERS,
    Records,
    States,
    Weights,
    by_hand,
    check_states,
    close_epoch,
    few_epochs,
    made,
    told,
    weights_of,
    written,
)
from pyarrow import parquet
from state.subnet import TYPES
from state.variants import variant

import tallystick
from tallystick_governance.backtest.candidates import Switch
from tallystick_governance.backtest.outcome import MinerTotals, WeightOutcome
from tallystick_governance.backtest.statistics import Bootstrap
from tallystick_governance.backtest.weights import NOBODY, compare_weights
from tallystick_governance.weight_effect import start_of, weight_effect
from tallystick_state.ledger import Ledger

pytestmark = pytest.mark.usefixtures("undrawn")

NANO = 10**9


def moved_by_hand(before: Weights, after: Weights) -> Fraction:
    """Half the sum of the changes of shares; where nobody has a weight, all is nobody's."""

    def share(weights: Weights, key: str) -> Fraction:
        whole = sum(weights.values())
        if not whole:
            return Fraction(key == NOBODY)
        return Fraction(weights.get(key, 0), whole)

    keys = {*before, *after, NOBODY}
    return sum((abs(share(after, k) - share(before, k)) for k in keys), Fraction()) / 2


PAIRS = [
    ("skills@1.0.0", "skills@1.1.0"),
    ("skills@1.1.0", "skills@1.2.0"),
    ("skills@1.2.0", "skills@1.0.0"),
    ("skills@1.0.0", "skills@1.2.0"),
]
SEEDS = [pytest.param(seed, marks=[pytest.mark.nightly] if seed else []) for seed in range(20)]


@pytest.mark.parametrize("seed", SEEDS)
def test_the_effect_is_that_of_ledgers_digit_for_digit(tmp_path: Path, seed: int) -> None:
    references, records = PAIRS[seed % len(PAIRS)], made(seed)
    path = written(tmp_path / "history.jsonl", records)
    states: list[dict[int, States]] = [{}, {}]
    ledgers = [
        by_hand(tmp_path / reference, reference, records, states=own)
        for reference, own in zip(references, states, strict=True)
    ]
    effect = weight_effect(path, *map(tallystick.load, references))
    parts = [moved_by_hand(ledgers[0][epoch], ledgers[1][epoch]) for epoch in sorted(ledgers[0])]
    assert effect.epochs == EPOCHS
    assert [
        abs(nano - part * NANO) <= Fraction(1, 2)
        for nano, part in zip(effect.moved, parts, strict=True)
    ] == [True] * len(parts)
    assert effect.share_moved == round(Fraction(sum(effect.moved), len(parts)))
    assert 0 < effect.share_moved < NANO
    folder = tmp_path / "out"
    words = [w for reference in references for w in ("--rules", reference)]
    told(["backtest", str(path), *words, "--with-state", "-o", str(folder)])
    assert [weights_of(folder, reference) for reference in references] == ledgers
    for reference, own in zip(references, states, strict=True):
        check_states(folder, reference, own)
    assert len({str(thresholds) for thresholds, _ in states[0].values()}) > 1


@pytest.mark.nightly
def test_a_replay_that_adopts_gives_what_a_state_gives_that_adopts(tmp_path: Path) -> None:
    records, out, states = made(9), tmp_path / "out", dict[int, States]()
    switches = Switch("skills@1.1.0", 2), Switch("skills@1.2.0", 4)
    first = "skills@1.0.0"
    ledger = by_hand(tmp_path / "hand", first, records, switches=switches, states=states)
    path = written(tmp_path / "history.jsonl", records)
    adopted = [word for s in switches for word in ("--adopt", f"{s.reference}@{s.epoch}")]
    told(["backtest", str(path), "--rules", first, *adopted, "--with-state", "-o", str(out)])
    name = f"{first}→skills@1.1.0@2→skills@1.2.0@4"
    assert weights_of(out, name) == ledger
    check_states(out, name, states)
    # what is counted of records is what the epochs are closed with
    (found,) = json.loads((out / "summary.json").read_text())["candidates"]
    state = found["state"]["overall"]
    assert {key: found["overall"][key] for key in state} == state


@pytest.mark.nightly
def test_weights_follow_from_a_state(tmp_path: Path) -> None:
    """The last epochs of a ledger, from its state before them, give what it gives."""
    records, first = made(5), 4
    whole = by_hand(tmp_path / "whole", "skills@1.1.0", records)
    later = [each for each in records if each["epoch"] >= first]
    where = str(tmp_path / "state.db")
    with Ledger.create(where, "skills@1.1.0") as ledger:
        for uid, hotkey in enumerate(MINERS):
            ledger.register(hotkey, uid, TYPES[:3])
        for epoch in range(first):
            close_epoch(ledger, tmp_path, records, epoch)
        start = start_of(ledger)
    path = written(tmp_path / "later.jsonl", later)
    rules = ["--rules", "skills@1.1.0", "--rules", "skills@1.2.0", "--with-state"]
    for name, more in (("from", ["--state", where]), ("new", [])):
        told(["backtest", str(path), *rules, *more, "-o", str(tmp_path / name)])
    found = {name: weights_of(tmp_path / name, "skills@1.1.0") for name in ("from", "new")}
    assert found["from"] == {first: whole[first]}
    assert found["new"][first] != whole[first]
    effect = weight_effect(
        path, *map(tallystick.load, ("skills@1.1.0", "skills@1.2.0")), state=start
    )
    assert effect.share_moved


def steps_of(*steps: str) -> Any:  # noqa: ANN401  # of variant
    """A change that puts other steps in the place of the last one."""

    def change(document: Any) -> None:  # noqa: ANN401  # a table of any keys
        import tomlkit

        own = document["allocation"]["steps"]
        own.pop()
        for step in steps:
            own.append(tomlkit.parse(f"step = {step}")["step"])

    return change


ABOVE_ALL = (
    '{ name = "kept", do = "filter", of = "part", above = 10 }',
    '{ name = "weight", do = "share", of = "kept", zero = "zero", publish = true }',
)
"""Steps that pay nobody."""


@pytest.fixture(scope="module")
def workflows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("workflows") / "history.jsonl"
    path.write_bytes(b"".join(few_epochs(made_up_lines(3, 300, ["workflow"]))))
    return path


@pytest.mark.nightly
def test_a_filter_that_pays_nobody_moves_all_and_tells_why(tmp_path: Path, workflows: Path) -> None:
    path = variant(tmp_path, "workflow@1.2.0", "1.3.0", steps_of(*ABOVE_ALL))
    effect = weight_effect(workflows, tallystick.load("workflow@1.2.0"), tallystick.load(path))
    assert effect.share_moved == NANO
    assert effect.nobody == (0, NANO)
    assert effect.reasons[0] == ""
    assert effect.reasons[1].startswith("kept: ")
    out = tmp_path / "out"
    words = ["--rules", "workflow@1.2.0", "--rules", str(path), "-o", str(out)]
    text = told(["backtest", str(workflows), *words])
    assert "100.00 % of all weight changes hands" in text
    assert "nobody has 100.00 % of it under the candidate: kept: " in text
    summary = json.loads((out / "summary.json").read_text())["candidates"][0]["weight"]
    assert summary["share_moved"] == "1.000000000"
    assert summary["nobody"] == ["0.000000000", "1.000000000"]
    assert summary["reasons"] == [*effect.reasons]
    report = (out / "report.html").read_text()
    assert "Under the candidate 100.00 % of all weight is nobody" in report


@pytest.mark.nightly
def test_what_the_history_did_not_exercise_is_named(tmp_path: Path) -> None:
    records = made(2)
    rules = [*map(tallystick.load, ("skills@1.1.0", "skills@1.2.0"))]
    whole = weight_effect(written(tmp_path / "a.jsonl", records), *rules)
    assert "late submission" not in whole.not_exercised
    assert "event collusion_flag" not in whole.not_exercised
    assert whole.switches["newcomer"] == 2
    assert "replaced hotkey" in whole.not_exercised
    plain = [r for r in records if not r["events"] and r["role"] == "primary"]
    bare = weight_effect(written(tmp_path / "b.jsonl", plain), *rules)
    for name in ("late submission", "event collusion_flag", "role auditor"):
        assert name in bare.not_exercised


@pytest.mark.nightly
def test_a_hotkey_that_takes_a_slot_over_is_told_and_weighed(tmp_path: Path) -> None:
    records = made(3)
    # the first miner has records in the first epochs alone, and another one its slot thereafter
    gone, new = MINERS[0], "hk-new"
    for each in records:
        if each["miner"]["hotkey"] == gone and each["epoch"] > 1:
            each["miner"]["hotkey"] = new
    rules = tallystick.load("skills@1.2.0")
    effect = weight_effect(written(tmp_path / "a.jsonl", records), rules, rules)
    assert effect.switches["replaced hotkey"] == 1
    out = tmp_path / "out"
    words = ["--rules", "skills@1.2.0", "--rules", "skills@1.1.0", "--with-state", "-o", str(out)]
    told(["backtest", str(tmp_path / "a.jsonl"), *words])
    found = weights_of(out, "skills@1.2.0")
    epochs = [[e for e in found if hotkey in found[e]] for hotkey in (gone, new)]
    assert max(epochs[0]) == 1
    assert min(epochs[1]) == 2


def weights(*epochs: Weights, reason: str = "") -> WeightOutcome:
    return WeightOutcome(
        tuple(range(len(epochs))), epochs, tuple("" if e else reason for e in epochs)
    )


def test_the_mean_is_over_the_epochs_and_nobody_counts() -> None:
    miners = [MinerTotals("a", 0), MinerTotals("b", 1)]
    before = weights({"a": 1, "b": 1}, {"a": 3})
    after = weights({"a": 3, "b": 1}, {}, reason="kept: too low")
    found = compare_weights(miners, before, after)
    assert found.moved == (NANO // 4, NANO)
    assert found.share_moved == NANO * 5 // 8
    assert found.distribution is not None
    assert [m.hotkey for m in found.distribution.miners] == ["a", "b", NOBODY]
    assert found.distribution.before == (NANO * 3 // 4, NANO // 4, 0)
    assert found.distribution.after == (NANO * 3 // 8, NANO // 8, NANO // 2)
    assert found.reasons == ("", "kept: too low")


@pytest.mark.parametrize("epochs", [2, 5, 300])
def test_an_interval_holds_the_share_that_moves(epochs: int) -> None:
    rng = random.Random(epochs)
    miners = [MinerTotals(name, uid) for uid, name in enumerate("abc")]
    sides = [
        weights(*({name: rng.randint(1, 99) for name in "abc"} for _ in range(epochs)))
        for _ in range(2)
    ]
    found = compare_weights(miners, *sides, Bootstrap())
    assert found.interval is not None
    assert found.interval.low <= (found.share_moved or 0) <= found.interval.high
    assert found.interval == compare_weights(miners, *sides, Bootstrap()).interval
    assert compare_weights(miners, *sides, Bootstrap(0)).interval is None


def test_weights_that_are_not_known_are_none() -> None:
    unknown = attrs.evolve(weights({"a": 1}), unknown="round.share is missing")
    found = compare_weights([MinerTotals("a", 0)], weights({"a": 1}), unknown)
    assert (found.share_moved, found.unknown) == (None, "round.share is missing")


def rewards(seed: int) -> Records:
    """Records of one number each; in each round every miner of the epoch does a task or none."""
    rng, records = random.Random(seed), list[dict[str, Any]]()
    for epoch in EPOCHS:
        for place, uid in product(range(3), range(len(MINERS))):
            line = {"skill_type": "reward", "task_id": f"t{epoch}-{place}", "role": "primary"}
            line |= {"validator": "val-1", "miner": {"uid": uid, "hotkey": MINERS[uid]}}
            line |= {"round": epoch * 3 + place, "epoch": epoch}
            records.append({**line, "checks": {"reward": rng.randint(100, 999) / 1000}})
    return [line for line in records if rng.random() < 0.8]


def test_rules_without_epochs_of_their_own_are_replayed(tmp_path: Path) -> None:
    references, records = ("king@1.0.0", "ladder@1.0.0"), rewards(7)
    path = written(tmp_path / "history.jsonl", records)
    ledgers = [by_hand(tmp_path / reference, reference, records) for reference in references]
    words = [word for reference in references for word in ("--rules", reference)]
    told(["backtest", str(path), *words, "--with-state", "-o", str(tmp_path / "out")])
    assert [weights_of(tmp_path / "out", reference) for reference in references] == ledgers


def test_weights_can_be_left_out(tmp_path: Path, workflows: Path) -> None:
    words = ["--rules", "workflow@1.0.0", "--rules", "workflow@1.2.0", "--no-weights"]
    text = told(["backtest", str(workflows), *words, "-o", str(tmp_path / "out")])
    assert "of all weight" not in text
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert summary["candidates"][0]["weight"] is None
    assert "--no-weights" in summary["command"]
    assert parquet.read_table(tmp_path / "out" / "weights.parquet").num_rows == 0
