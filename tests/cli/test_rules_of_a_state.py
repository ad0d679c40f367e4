"""Commands that score by the rules of a state, and that tell what an adoption would do to it."""

import json
from decimal import Decimal
from pathlib import Path

import pytest
from cli.command import run
from state.subnet import begun, hotkeys, record, written

import tallystick
from tallystick_state.ledger import Ledger

PYTHON = "executable_python"
OLD, NEW = "skills@1.0.0", "skills@1.1.0"


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    """A state that adopts other rules for epoch 1, which has begun."""
    found = begun(tmp_path / "state.db", OLD, hotkeys(3))
    found.adopt(NEW, 1)
    found.close_round(written(tmp_path / "first.jsonl", [made("t0", "hk-0", 0)]))
    found.close_epoch()
    return found


def made(task: str, hotkey: str, epoch: int) -> dict[str, object]:
    return record(task, hotkey, round=epoch, epoch=epoch, latency_ms=60_000)


def test_records_are_scored_by_the_rules_of_their_epochs(ledger: Ledger, tmp_path: Path) -> None:
    lines = [made("a", "hk-0", 0), made("b", "hk-1", 1)]
    source, state = written(tmp_path / "records.jsonl", lines), ledger.store.shown
    output = tmp_path / "out.jsonl"
    done = run("score", str(source), "--state", state, "-o", str(output), "--json")
    assert done.status == 0, done.err
    by_epoch = json.loads(done.out)["rules_by_epoch"]
    assert [(each["epoch"], each["rule_set"]) for each in by_epoch] == [(0, OLD), (1, NEW)]
    rows = [json.loads(line) for line in output.read_text(encoding="utf-8").splitlines()]
    for number, (row, name) in enumerate(zip(rows, (OLD, NEW), strict=True), 1):
        place = ("--line", str(number), "--state", state, "--json")
        told = json.loads(run("explain", str(source), *place).out)
        assert told["rule_set"] == name
        assert told["result"]["quality"] == row["quality"]
        assert row["quality"] == f"{tallystick.load(name).score(lines[number - 1]).quality:f}"


def test_rules_beside_a_state_are_those_that_it_follows(ledger: Ledger, tmp_path: Path) -> None:
    source, state = written(tmp_path / "r.jsonl", [made("a", "hk-0", 1)]), ledger.store.shown
    for name in (OLD, NEW):
        done = run("explain", str(source), "--rules", name, "--state", state, "--json")
        assert json.loads(done.out)["rule_set"] == NEW
    refused = run("explain", str(source), "--rules", "skills@1.2.0", "--state", state)
    assert refused.status == 2
    assert "expected that of the state" in refused.err
    nothing = run("explain", str(source))
    assert nothing.status == 2
    assert "Missing option '--rules'" in nothing.err


@pytest.mark.nightly
def test_a_difference_tells_what_it_does_to_a_state(tmp_path: Path) -> None:
    state = str(tmp_path / "state.db")
    late = (40_000, 60_000, 90_000, 150_000)
    with begun(state, OLD, hotkeys(len(late))) as ledger:
        ledger.import_events(
            [record("t", f"hk-{n}", epoch=0, latency_ms=latency) for n, latency in enumerate(late)]
        )
        ledger.close_epoch()
        with ledger.queries() as queries:
            carried = queries.state.thresholds[PYTHON]
    done = run("rules", "diff", OLD, NEW, "--state", state, "--json")
    assert done.status == 0, done.err
    told = json.loads(done.out)["state"]
    assert (told["epoch"], told["judged"], told["ejected"]) == (1, 0, [])
    # 1.1.0 follows the published baseline, which is not tracked: it is seeded anew
    before = {each["name"]: each["before"] for each in told["thresholds"]}
    after = {each["name"]: each["after"] for each in told["thresholds"]}
    assert before["baseline"] == f"{carried['baseline'] / 10**9:.9f}"
    assert after["baseline"] == "0.500000000"
    assert {move["skill_type"] for move in told["tiers"]} == {PYTHON}
    assert all(move["before"] != move["after"] for move in told["tiers"])
    with Ledger.open(state) as ledger:
        ledger.adopt(NEW, 2)
        ledger.close_epoch()
        with ledger.queries() as queries:
            adopted = queries.state.thresholds[PYTHON]["baseline"]
    assert adopted == 500_000_000
    text = run("rules", "diff", NEW, "skills@1.2.0", "--state", state, "--markdown").out
    assert "## What it does to the state in epoch 2" in text
    refused = run("rules", "diff", OLD, NEW, "--state", state)
    assert refused.status == 2
    assert "expected OLD to be what the state goes by" in refused.err


def test_a_difference_is_bounded_by_the_thresholds_of_the_state(tmp_path: Path) -> None:
    state, new = str(tmp_path / "state.db"), tmp_path / "new.toml"
    Ledger.create(state, NEW).close()
    value = "tiers.thresholds.optimised.headroom=0.14"
    assert run("rules", "set", NEW, value, "reputation.floor=0.06", "-o", new).status == 0
    free = run("rules", "diff", NEW, new, "--json").json()
    bound = run("rules", "diff", NEW, new, "--state", state, "--json").json()
    # a threshold that is lowered lets tiers only rise, whatever the thresholds are
    assert {e["emission_ratio"]["at_least"] for e in free["effects"]} == {"1.000000000"}
    assert {e["emission_ratio"]["at_most"] for e in free["effects"]} == {"4.000000000"}
    assert not any(each["any_tier"] for each in free["effects"])
    # by those of the state one type has another: who was just below it is optimised now
    ratios = {e["skill_type"]: tuple(e["emission_ratio"].values()) for e in bound["effects"]}
    assert ratios.pop(PYTHON) == ("1.000000000", "1.400000000")
    assert set(ratios.values()) == {("1.000000000", "1.000000000")}
    assert not any(each["any_tier"] for each in bound["effects"])
    assert (free["thresholds_of_epoch"], bound["thresholds_of_epoch"]) == (None, 0)
    assert free["not_analysed"] == bound["not_analysed"] == []
    weight = bound["state"]["weight"]
    assert Decimal(weight["moved"]) > 0
    assert free["measure"].startswith("tallystick backtest HISTORY --rules skills@1.1.0 ")
    text = run("rules", "diff", NEW, new, "--state", state).out
    assert "reputation: can rise" in text
    assert "share of weight that changes hands: 0.0" in text
    assert f"    not exercised  {', '.join(weight['not_exercised'])}" in text.splitlines()
    assert "what it can do to a score, by the thresholds of the state in epoch 0" in text
    assert "any other" not in text
    assert "after that epoch the thresholds follow the new rules" in text


def test_thresholds_that_may_rise_or_fall_bound_nothing(tmp_path: Path) -> None:
    new = tmp_path / "new.toml"
    values = ("tiers.thresholds.optimised.headroom=0.14", "tiers.thresholds.optimised.factor=1.3")
    assert run("rules", "set", NEW, *values, "-o", new).status == 0
    free = run("rules", "diff", NEW, new, "--json").json()
    # any tier can become any other under thresholds that nobody knows
    assert all(each["any_tier"] for each in free["effects"])
    text = run("rules", "diff", NEW, new).out
    assert "so that a record of any tier may reach any other" in text
    assert "--state STATE bounds it" in text
