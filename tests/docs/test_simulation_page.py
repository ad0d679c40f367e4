"""``docs/simulation.md`` has every option and every strategy, with what each does and costs."""

import re

from manual.page import Page

import tallystick
from tallystick_simulation.assumptions import shipped_assumptions
from tallystick_simulation.constant_answer import ConstantAnswer, constant_strategy
from tallystick_simulation.pool import Pool
from tallystick_simulation.response import trials

_PAGE = Page.of("docs/simulation.md")
_KINDS = {"always": "CHOICE", "spray": "FIELD", "pad": "FIELD"}


def _strategies() -> set[tuple[str, str, str]]:
    """Name, summary and cost of every strategy; what follows from a type stands for itself."""
    record = {"skill_type": "workflow"}
    found = set()
    for reference in ("skills@1.2.0", "workflow@1.2.0"):
        rules = tallystick.load(reference)
        pool = Pool(rules.registry, tasks=1)
        for trial in trials(rules, pool=pool, examples={"example:N": record}):
            constant = constant_strategy(trial, ConstantAnswer({}, 0))
            for strategy in (*trial.strategies.values(), constant):
                kind, _, rest = strategy.name.partition(":")
                letters = _KINDS.get(kind, rest)
                name = strategy.name.replace(rest, letters) if rest else strategy.name
                summary = strategy.summary.replace(rest, letters) if rest else strategy.summary
                found.add((name, summary, str(strategy.cost * 100 // 10**9)))
    return found


def test_every_strategy_is_documented_with_what_it_does_and_costs() -> None:
    rows = _PAGE.section("Strategies").cells()
    documented = {(re.findall("`([^`]+)`", name)[0], does, cost) for name, does, cost in rows}
    assert documented == _strategies()
    assert len(rows) == len(documented)


def test_every_cost_is_that_of_an_assumption() -> None:
    costs = {str(row.value) for row in shipped_assumptions().costs.values()}
    assert {cost for *_, cost in _PAGE.section("Strategies").cells()} <= costs
