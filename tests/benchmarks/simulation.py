"""How fast simulations are, beside the same without what their runs share.

Run it as ``python tests/benchmarks/simulation.py [--epochs N] [--tiny]``. It prints
processor time, each beside that of another way:

* *networks*: 64 miners over 200 epochs, once for each of ten strategies, with one pool for all;
  beside a pool for each;
* *scores*: 100 000 answers of each of ten strategies, of which the pool knows what task and answer
  decide; beside `score_columns`, which computes every value of every row;
* *comparison*: what the rules in force and another rule set pay the same miners; beside the first
  comparison, which makes the answers and runs both;
* *lint*: `dishonesty-pays`; beside the responses of every strategy under both rule sets.

The first two lines come to the same values on both sides.
"""

import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import click
import numpy as np

# in the place of this folder, where a module has the name of that of the tests
sys.path.pop(0)
sys.path.append(str(Path(__file__).resolve().parents[1] / "simulation"))

from networks import changed, shipped

from tallystick.formula.columns import Column
from tallystick.scoring.bound_rules import BoundRules
from tallystick.scoring.lint import Check
from tallystick.scoring.planner import score_columns
from tallystick_governance.lint import deviations
from tallystick_simulation.comparison import compare
from tallystick_simulation.pool import Key, Pool
from tallystick_simulation.response import Setting, responses, trials
from tallystick_simulation.type_run import types_of

RULES, TYPE = "skills@1.2.0", "executable_python"
CHANGE = {f"skill_types.{TYPE}.base_weight": "1.3"}
OTHER = {"groups.ties": "hotkey"}
STRATEGIES = 10
TASKS = 32
ANSWERS = 100_000


def seconds(work: Callable[[], object]) -> tuple[float, object]:
    """The processor time of one call, and what it gave."""
    start = time.process_time()
    value = work()
    return time.process_time() - start, value


def networks(rules: BoundRules, miners: int, epochs: int, *, shared: bool) -> list[object]:
    """The earnings of the subject by ten strategies, honest work among them."""
    setting = Setting(miners=miners, epochs=epochs, seeds=1)
    pool = Pool(rules.registry, tasks=TASKS)
    earned = list[object]()
    (trial,) = trials(rules, setting, types=(TYPE,), pool=pool)
    for name in [*trial.strategies][:STRATEGIES]:
        own = pool if shared else Pool(rules.registry, tasks=TASKS)
        (trial,) = trials(rules, setting, types=(TYPE,), pool=own)
        earned.append(trial.earnings(trial.strategies[name]))
    return earned


def scored(rules: BoundRules, pool: Pool, every: Sequence[Column], *, known: bool) -> list[int]:
    """The sums of the emissions of some answers of each strategy."""
    of_type = types_of(rules, pool)[TYPE]
    of_round = of_type.facts.columns({})
    sums = []
    for rows in every:
        if known:
            scores = of_type.scores(rows, {}, of_type.bound.seeds)
        else:

            def column(digest: str, rows: Column = rows) -> Column:
                if digest in of_type.pool.places:
                    return of_type.pool.column(digest, rows)
                return np.broadcast_to(of_round(digest), rows.shape)

            scores = score_columns(of_type.bound, column, of_type.bound.seeds, len(rows))
        assert scores.emission is not None
        sums.append(int(scores.emission.sum()))
    return sums


def found(check: Check, old: BoundRules, new: BoundRules) -> list[object]:
    """The findings of a comparison."""
    assert check.compare is not None
    return [*check.compare(old, new)]


def line(name: str, own: float, other: str, beside: float) -> None:
    """Print a line."""
    click.echo(f"{name:44} {own:9.3f}   {other:32} {beside:9.3f}   {beside / own:6.1f} x")


@click.command()
@click.option("--epochs", type=click.IntRange(1), default=200, help="Of the networks.")
@click.option("--tiny", is_flag=True, help="Networks and columns of a size that takes seconds.")
def main(epochs: int, tiny: bool) -> None:
    """Measure each line."""
    old, new = shipped(RULES), changed(RULES, CHANGE)
    miners, answers = (8, 1_000) if tiny else (64, ANSWERS)
    epochs = min(epochs, 2) if tiny else epochs
    click.echo(f"{RULES}, {TYPE}; seconds of processor time")

    own, earned = seconds(lambda: networks(old, miners, epochs, shared=True))
    beside, again = seconds(lambda: networks(old, miners, epochs, shared=False))
    assert earned == again
    name = f"{STRATEGIES} networks of {miners} miners, {epochs} epochs"
    line(name, own, "a pool for each", beside)

    pool = Pool(old.registry, tasks=TASKS)
    of_type = pool.of(TYPE)
    (trial,) = trials(old, types=(TYPE,), pool=pool)
    blocks = [
        of_type.block(Key(strategy.behaviour, 75)).rows(np.arange(TASKS))
        for strategy in [*trial.strategies.values()][:STRATEGIES]
    ]
    every = [np.resize(np.maximum(rows, 0), answers) for rows in blocks]
    own, sums = seconds(lambda: scored(old, pool, every, known=True))
    beside, others = seconds(lambda: scored(old, pool, every, known=False))
    assert sums == others
    line(f"{STRATEGIES} x {answers} answers, scored", own, "every value of every row", beside)

    epochs = min(epochs, 12)
    other = changed(RULES, OTHER)
    beside, _ = seconds(lambda: compare(old, new, epochs=epochs))
    own, _ = seconds(lambda: compare(old, other, epochs=epochs))
    line(f"comparison with another set, {epochs} epochs", own, "the first one", beside)

    if not tiny:
        (check,) = (c for c in vars(deviations).values() if isinstance(c, Check))
        own, _ = seconds(lambda: found(check, old, new))
        setting = Setting(miners=12, epochs=4, seeds=2)
        beside, _ = seconds(
            lambda: [responses(trials(rules, setting, types=(TYPE,))) for rules in (old, new)]
        )
        line("dishonesty-pays, one type", own, "every strategy, both rule sets", beside)


if __name__ == "__main__":
    main()
