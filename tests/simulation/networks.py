"""Small networks for tests: rule sets that are changed at a path, and what one miner is paid."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from governance.revision import assigned
from governance.revision import shipped as text_of

import tallystick
from tallystick.plugins.registry import installed_plugins
from tallystick.rules.reading import read_text
from tallystick.scoring.bound_rules import BoundRules, bind_rules
from tallystick_simulation.assumptions import shipped_assumptions
from tallystick_simulation.behaviour import BEHAVIOURS
from tallystick_simulation.network import Network, Participant
from tallystick_simulation.pool import Key, Pool
from tallystick_simulation.strategy import MinerStrategy, strategies_of

ROOT = Path(__file__).resolve().parents[2]
NO_SHARES = (
    '{ name = "part", do = "share", of = "mean", zero = "zero" }',
    """{ name = "high", do = "filter", of = "mean", above = 10 },
  { name = "part", do = "share", of = "high", zero = "zero" }""",
)
"""The share of workflow@1.2.0, and what it is behind a filter that no mean passes."""
ACCURACIES = (60, 70, 80, 90, 75)


@cache
def shipped(reference: str) -> BoundRules:
    """A shipped rule set."""
    return tallystick.load(reference)


def changed(
    reference: str, values: Mapping[str, str], texts: Mapping[str, str] | None = None
) -> BoundRules:
    """A shipped rule set with other values at some paths, as `rules set` writes it.

    Args:
        reference: the rule set.
        values: by path.
        texts: that stand in place of others, for what `rules set` cannot say.
    """
    text = text_of(reference, *(texts or {}).items())
    text = assigned(text, (f"{path}={value}" for path, value in values.items()))
    loaded = read_text(text, Path(reference), installed_plugins())
    return bind_rules(loaded, loaded.registry)


def replaced(reference: str, old: str, new: str) -> BoundRules:
    """A shipped rule set with another text in place of one that it has."""
    return changed(reference, {}, {old: new})


@cache
def pool_of(reference: str, tasks: int = 8, seed: int = 1) -> Pool:
    """The pool of a rule set's plugins."""
    return Pool(shipped(reference).registry, seed=seed, tasks=tasks)


def strategies(rules: BoundRules, pool: Pool) -> Mapping[str, MinerStrategy]:
    """The strategies of a rule set, by name."""
    return strategies_of(pool, sorted(rules.types), shipped_assumptions())


def key(behaviour: str, accuracy: int, variant: int = 0) -> Key:
    """The key of a block of a behaviour of every type, by its name."""
    return Key(BEHAVIOURS[behaviour], accuracy, variant)


def network(  # noqa: PLR0913  # the sizes of a network
    rules: BoundRules,
    pool: Pool,
    strategy: str = "honest",
    types: frozenset[str] | None = None,
    *,
    miners: int = 12,
    epochs: int = 6,
    rounds: int = 2,
    seed: int = 3,
) -> Network:
    """Honest miners, of whom the first takes a strategy."""
    named = strategies(rules, pool)
    return Network(
        rules=rules,
        participants=tuple(
            Participant(
                name=f"miner-{number:02}",
                strategy=named[strategy if number == 0 else "honest"],
                accuracy=80 if number == 0 else ACCURACIES[number % len(ACCURACIES)],
                variant=number,
                types=types,
            )
            for number in range(miners)
        ),
        epochs=epochs,
        rounds=rounds,
        seed=seed,
    )
