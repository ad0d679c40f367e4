"""Changes under which a miner who breaks the rules begins to earn more than one who does not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import attrs

from tallystick.numbers.nano import NANO, to_text
from tallystick.rules.findings import Finding
from tallystick.scoring.lint import comparison, more
from tallystick.scoring.scorer import Scorer
from tallystick_governance.diff.effect import recomputed

if TYPE_CHECKING:
    from tallystick_governance.simulation.study import ResponseChange
    from tallystick_simulation.strategy import MinerStrategy

_CHANGE = NANO // 4
"""Change of a gain, in nano of honest pay, that is more than chance makes in so small networks."""


@comparison("dishonesty-pays", "error", more("gain"), on_request=True)
def _dishonesty_pays(old: Scorer, new: Scorer) -> Iterator[Finding]:
    """A strategy that breaks the rules pays more than honest work, and did not before.

    Small made-up networks in which one miner has the strategy and all others do honest work, the
    same under both rule sets. The gain is what the strategy earns more than that, after its costs,
    in units of the pay of honest work; costs and accuracies are assumptions. `tallystick simulate`
    says more, with larger networks.

    Remedy: look at tallystick simulate NEW --against OLD; pay for what the strategy leaves out.
    """
    types = _types(old, new)
    if not types:
        return
    reported = set[str]()
    for change in sorted(_changes(old, new, types), key=lambda change: -(change.change or 0)):
        name = change.after.skill_type
        grows = (change.change or 0) >= _CHANGE and change.after.is_clear
        if name in reported or not (change.begins_to_pay and grows):
            continue
        reported.add(name)
        gain, ratio = change.after.gain or 0, change.after.ratio or 0
        yield Finding(
            ("skill_types", name),
            f"{change.after.strategy} pays {to_text(ratio)} of honest work in {name}, a gain of "
            f"{to_text(gain)} after its costs; before it was {to_text(change.before.gain or 0)}",
            {
                "skill_type": name,
                "strategy": change.after.strategy,
                "gain": to_text(gain),
                "gain_before": to_text(change.before.gain or 0),
                "ratio": to_text(ratio),
            },
        )


def _changes(old: Scorer, new: Scorer, types: Sequence[str]) -> Iterator[ResponseChange]:
    """Yield the strategies that pay under new rules, and are known under old ones."""
    # the simulation takes long to load, and is for who asks for this check alone
    from tallystick_governance.simulation.study import ResponseChange
    from tallystick_simulation.response import Setting, trials

    setting = Setting(miners=12, epochs=4, seeds=2)
    first = trials(new, attrs.evolve(setting, seeds=1), types=types)
    pool = first[0].pool
    # the plugins may differ, and the answers with them
    own = pool if old.registry is new.registry else None
    after = trials(new, setting, types=types, pool=pool)
    before = trials(old, setting, types=types, pool=own)
    by_type = {trial.skill_type: trial for trial in before}
    for one, many in zip(first, after, strict=True):
        other = by_type[one.skill_type]
        for name, strategy in one.strategies.items():
            # what does not pay in the first network does not pay clearly
            if (
                _answers_otherwise(strategy)
                and name in other.strategies
                and (one.response(strategy).gain or 0) > 0
            ):
                yield ResponseChange(
                    other.response(other.strategies[name]), many.response(strategy)
                )


def _types(old: Scorer, new: Scorer) -> Sequence[str]:
    """Return the skill types of both whose records score otherwise; one of all where none does."""
    both = [name for name in new.types if name in old.types]
    if old.digest == new.digest:
        return ()
    changed = [name for name in both if recomputed(old.types[name], new.types[name])]
    return changed or both[:1]


def _answers_otherwise(strategy: MinerStrategy) -> bool:
    """Return whether a strategy is one of other answers, from the first task on, by one hotkey.

    What the others earn depends on who else is there, which so small networks cannot say.
    """
    from tallystick_simulation.strategy import HONEST

    return (
        not strategy.is_honest and strategy.behaviour.name != HONEST and strategy.chooses == "own"
    )
