"""Strategies: whom each is chosen for, what it answers, and what that costs."""

from __future__ import annotations

import attrs
import pytest
from networks import changed, network, pool_of, shipped, strategies

from tallystick.errors import InputError
from tallystick.numbers.nano import NANO
from tallystick_simulation.run import run
from tallystick_simulation.strategy import strategy_of

SHIPPED = "skills@1.2.0"


def test_who_grinds_hotkeys_is_chosen_where_they_decide() -> None:
    pool = pool_of(SHIPPED)
    tied = changed(SHIPPED, {"groups.ties": "hotkey"})
    chosen, not_always = (
        run(network(rules, pool, "tie-grinder", miners=24, epochs=1), pool).answers[0, 0]
        for rules in (tied, shipped(SHIPPED))
    )
    assert chosen == 12 > not_always


def test_who_skips_hard_tasks_answers_few_and_those_well() -> None:
    pool, rules = pool_of(SHIPPED), shipped(SHIPPED)
    found = []
    for name in ("skip-hard", "honest"):
        base = network(rules, pool, name, epochs=1)
        people = tuple(attrs.evolve(person, accuracy=40) for person in base.participants)
        found.append(run(attrs.evolve(base, participants=people), pool))
    (answers, every), (quality, _) = (
        [getattr(own, table)[0, 0] for own in found] for table in ("answers", "quality")
    )
    assert 0 < answers < every
    others = found[0].quality[:, 1:].sum() / found[0].answers[:, 1:].sum()
    assert quality / answers > others


def test_a_hugger_works_less_for_no_lower_tier() -> None:
    pool, rules = pool_of(SHIPPED), shipped(SHIPPED)
    hugger, honest = (
        run(network(rules, pool, name, epochs=1), pool) for name in ("threshold-hugger", "honest")
    )
    assert (hugger.answers == honest.answers).all()
    assert hugger.work[0, 0] < honest.work[0, 0]
    assert hugger.quality[0, 0] < honest.quality[0, 0]


def test_a_copy_is_as_good_as_its_model_and_costs_little() -> None:
    pool, rules = pool_of(SHIPPED), shipped(SHIPPED)
    copy, nothing = (run(network(rules, pool, n, epochs=2), pool) for n in ("copy", "idle"))
    assert copy.work[:, 0].sum() == copy.answers[:, 0].sum() * NANO // 10
    assert copy.quality[:, 0].sum() > 0 == nothing.quality[:, 0].sum()


@pytest.mark.nightly
def test_those_of_a_coalition_agree_and_are_flagged() -> None:
    pool, rules = pool_of(SHIPPED), shipped(SHIPPED)
    base = network(rules, pool, epochs=6, rounds=2)
    named = strategies(rules, pool)["collude"]
    people = [
        attrs.evolve(p, strategy=named, coalition="c", reputation=NANO) if n < 3 else p
        for n, p in enumerate(base.participants)
    ]
    outcome = run(attrs.evolve(base, participants=tuple(people)), pool)
    flagged = {m.uid for m in outcome.state.miners.values() if m.flags}
    assert flagged == {0, 1, 2}
    assert "ejected miner" not in outcome.not_exercised


def test_every_strategy_runs_and_its_name_and_summary_are_its_own() -> None:
    pool, rules = pool_of("workflow@1.2.0"), shipped("workflow@1.2.0")
    named = strategies(rules, pool)
    assert [*named] == [strategy.name for strategy in named.values()]
    for name, strategy in named.items():
        assert strategy.summary
        outcome = run(network(rules, pool, name, epochs=2), pool)
        assert (outcome.answers[:, 0].sum() == 0) == (name == "absent")
    always = {name for name in strategies(shipped(SHIPPED), pool_of(SHIPPED)) if ":" in name}
    assert {"always:ALLOW", "always:REVIEW", "always:BLOCK"} < always


def test_a_strategy_that_nobody_has_is_refused() -> None:
    named = strategies(shipped("workflow@1.2.0"), pool_of("workflow@1.2.0"))
    assert strategy_of(named, "rush") is named["rush"]
    with pytest.raises(InputError, match='found the strategy "rusch", expected one of honest, '):
        strategy_of(named, "rusch")
