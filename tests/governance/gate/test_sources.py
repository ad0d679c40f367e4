"""The worlds of the gate: what they measure is what their own functions say."""

from __future__ import annotations

import hashlib
import json
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest
from cli.command import message_of, run
from governance.backtest.histories import grouped, written
from governance.gate.worlds import HEAD
from governance.revision import shipped, with_values

import tallystick
from tallystick.io.sources import input_digest
from tallystick.numbers.nano import to_text
from tallystick_governance.gate.policy import Measure
from tallystick_governance.gate.sources import source_of
from tallystick_governance.weight_effect import weight_effect
from tallystick_simulation.comparison import compare
from tallystick_simulation.response import Setting, responses, trials
from tallystick_state.ledger import Ledger

OLD = "workflow@1.2.0"
WEIGHT = """\
[measure]
seeds = [3, 5]
epochs = 3
[emission.growth_at_most]
factor = 1
[weight]
moved_at_most = { share = 0 }
nobody_at_most = { share = 0 }
floor = { share = 1 }
"""
NANO = 10**9


@pytest.fixture(autouse=True)
def council(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with a policy, and with a rule set in which success counts less."""
    monkeypatch.chdir(tmp_path)
    text = shipped(OLD, ("success = 0.50", "success = 0.30"), ("cost = 0.25", "cost = 0.45"))
    Path("new.toml").write_text(text.replace('version = "1.2.0"', 'version = "1.3.0"'), "utf-8")
    Path("policy.toml").write_text(HEAD + WEIGHT, encoding="utf-8")


def test_a_made_up_network_has_the_figures_of_its_own_comparison() -> None:
    old, new = tallystick.load(OLD), tallystick.load("new.toml")
    both = source_of(None, None, Measure(seeds=(3, 5), epochs=3), old, new).weights()
    assert len(both) == 2
    for seed, figures in zip((3, 5), both, strict=True):
        found = compare(old, new, seed=seed, epochs=3)
        before, after = found.old.weights.sum(axis=0), found.new.weights.sum(axis=0)
        nobody = [int(side.nobody.sum()) for side in (found.old, found.new)]
        gains = [max(0, int(b) - int(a)) for a, b in zip(before, after, strict=True)]
        moved = (sum(gains) + max(0, nobody[1] - nobody[0])) // 3
        assert figures.moved == Fraction(moved, NANO)
        assert figures.nobody == tuple(Fraction(each // 3, NANO) for each in nobody)
        place = found.old.names.index("honest-09")
        ends = [Fraction(int(side[place]) // 3, NANO) for side in (before, after)]
        assert figures.weights["honest-09"] == tuple(ends)
        assert not {"idle", "spray", ""} & figures.weights.keys()
        assert figures.not_exercised == found.not_exercised


def test_the_command_measures_on_a_made_up_network_and_says_so() -> None:
    same = run("rules", "gate", "policy.toml", OLD, OLD, "--json").json()
    assert [each["outcome"] for each in same["clauses"]] == ["kept"] * 4
    assert same["measured_on"] == {"kind": "network", "seeds": [3, 5], "epochs": 3}
    done = run("rules", "gate", "policy.toml", OLD, "new.toml")
    assert done.status == 1
    assert "measured on a made-up network of 3 epochs, seed 3, 5" in done.out
    assert "weight.moved_at_most (0." in done.out.splitlines()[-1]


def state_of(where: str) -> None:
    with Ledger.create(where, OLD) as ledger:
        ledger.register("hk-1", 1, ["workflow"])
        ledger.close_epoch()


def test_the_command_goes_on_from_a_state() -> None:
    state_of("state.db")
    words = ("rules", "gate", "policy.toml", OLD, "new.toml", "--state", "state.db")
    for name in ("a.json", "b.json"):
        assert run(*words, "--receipt", name).status == 1
    assert Path("a.json").read_bytes() == Path("b.json").read_bytes()
    digest = run("state", "info", "--state", "state.db", "--json").json()["state_digest"]
    assert json.loads(Path("a.json").read_bytes())["measured_on"] == {
        "kind": "state",
        "digest": digest,
        "epoch": 1,
        "seeds": [3, 5],
        "epochs": 3,
    }
    assert f"from epoch 1 of a state, {digest}" in run(*words).out


def test_a_state_of_other_rules_is_wrong_use() -> None:
    state_of("state.db")
    words = ("new.toml", OLD, "--state", "state.db")
    assert "expected OLD to be what the state goes by" in message_of(
        run("rules", "gate", "policy.toml", *words)
    )
    assert run("rules", "gate", "policy.toml", OLD, OLD, "--state", "none.db").status == 2


def history_of() -> None:
    words = ("--seed", "11", "--count", "90", "--types", "workflow", "--miners", "12")
    words += ("--validators", "1", "--epochs", "3", "--rounds", "2", "-o", "history.jsonl")
    assert run("records", "generate", *words).status == 0


def test_a_history_has_the_figures_of_its_records() -> None:
    history_of()
    words = ("rules", "gate", "policy.toml", OLD, "new.toml", "history.jsonl")
    done = run(*words, "--receipt", "gate.json")
    assert done.status == 1
    content = json.loads(Path("gate.json").read_bytes())
    data = Path("history.jsonl").read_bytes()
    effect = weight_effect("history.jsonl", tallystick.load(OLD), tallystick.load("new.toml"))
    assert content["measured_on"] == {
        "kind": "history",
        "digest": f"sha256:{hashlib.sha256(data).hexdigest()}",
        "seeds": [3, 5],
        "epochs": 3,
        "records": 90,
        "not_exercised": [*effect.not_exercised],
    }
    assert effect.distribution is not None
    figures = {each["clause"]: each["figure"] for each in content["clauses"]}
    nano = effect.share_moved or 0
    assert figures["weight.moved_at_most"] == f"{nano // NANO}.{nano % NANO:09}"
    ends = zip(effect.distribution.before, effect.distribution.after, strict=True)
    worst = min(Fraction(after, before) for before, after in ends if before)
    assert figures["weight.floor"] == f"{float(int(worst * NANO)) / NANO:.9f}"
    sentence = f"The history did not exercise: {', '.join(effect.not_exercised)}."
    assert sentence in run(*words, "--markdown").out.splitlines()
    run(*words, "--receipt", "again.json")
    assert Path("again.json").read_bytes() == Path("gate.json").read_bytes()


def test_groups_give_the_records_of_a_history_their_consensus() -> None:
    records, groups = grouped(4)
    written(Path("records.jsonl"), records)
    written(Path("groups.jsonl"), groups)
    values = {"consensus.components.verdict_agreement.one_step": Decimal(0)}
    text = with_values(shipped("skills@1.2.0"), [*values.items(), ("rule_set.version", "1.3.0")])
    Path("agreement.toml").write_text(text, encoding="utf-8")
    rules = ("skills@1.2.0", "agreement.toml")
    words = ("rules", "gate", "policy.toml", *rules)
    done = run(*words, "records.jsonl", "--groups", "groups.jsonl", "--json").json()
    effect = weight_effect("records.jsonl", *map(tallystick.load, rules), groups="groups.jsonl")
    (moved,) = [c for c in done["clauses"] if c["clause"] == "weight.moved_at_most"]
    assert moved["figure"] == to_text(effect.share_moved or 0) != to_text(0)
    assert done["measured_on"]["groups"] == input_digest(Path("groups.jsonl"))
    alone = run(*words, "--groups", "groups.jsonl")
    assert (alone.status, alone.out) == (2, "")
    assert "found --groups without HISTORY, expected both" in alone.err


def test_a_history_that_cannot_be_read_is_wrong_use() -> None:
    Path("empty.jsonl").write_text("")
    for name in ("none.jsonl", "empty.jsonl"):
        done = run("rules", "gate", "policy.toml", OLD, "new.toml", name)
        assert done.status == 2
        assert "Traceback" not in done.err


DEVIATION = """\
[measure]
trial_epochs = 3
[simulation.deviation_gain_at_most]
more = 0.05
strategies = ["rush", "idle"]
"""


def test_deviations_have_the_figures_of_their_own_trials() -> None:
    Path("policy.toml").write_text(HEAD + DEVIATION, encoding="utf-8")
    told = run("rules", "gate", "policy.toml", OLD, "new.toml", "--json").json()
    (clause,) = told["clauses"]
    setting = Setting(epochs=3, seeds=1, seed=1)
    gains = {
        each.strategy: each.gain or 0
        for each in responses(trials(tallystick.load("new.toml"), setting), ["rush", "idle"])
    }
    name = max(("rush", "idle"), key=lambda each: (gains[each], each))
    nano = NANO + gains[name]
    assert clause["figure"] == f"{nano // NANO}.{nano % NANO:09} × by {name} in workflow"


def test_a_type_that_the_change_leaves_as_it_was_is_not_tried() -> None:
    Path("policy.toml").write_text(HEAD + DEVIATION, encoding="utf-8")
    told = run("rules", "gate", "policy.toml", OLD, OLD, "--json").json()
    (clause,) = told["clauses"]
    assert (clause["outcome"], clause["figure"]) == ("kept", "no deviation has other rules")


def test_a_strategy_that_there_is_not_leaves_the_clause_unasked() -> None:
    Path("policy.toml").write_text(HEAD + DEVIATION.replace("rush", "rsuh"), encoding="utf-8")
    told = run("rules", "gate", "policy.toml", OLD, "new.toml", "--json").json()
    (clause,) = told["clauses"]
    assert clause["outcome"] == "broken"
    assert clause["figure"].startswith("not asked: ")
    assert "rsuh" in clause["figure"]
