"""Made-up outcomes of back-tests: miners, sums and flips by a seeded generator."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from itertools import product

import attrs
import numpy as np
import pyarrow as pa

from tallystick_governance.backtest.candidates import FormulaUse, Identity, Proposal, SweptNumber
from tallystick_governance.backtest.comparison import CandidateComparison, FlipDistances, compare
from tallystick_governance.backtest.incentive import Incentives, Network, Weighed, incentives
from tallystick_governance.backtest.outcome import (
    CandidateOutcome,
    EpochState,
    FlipCounts,
    FlipRows,
    History,
    MinerTotals,
    Outcome,
    Period,
    StateOutcome,
    ThresholdRange,
    TypeOutcome,
)
from tallystick_governance.backtest.statistics import Bootstrap, Interval, Uncertainty
from tallystick_governance.diff.change import Change as RuleChange
from tallystick_governance.diff.change import FormulaChange
from tallystick_yuma.inputs import YumaParameters
from tallystick_yuma.metagraph import Validator

NANO = 10**9
TIERS = ("low", "middle", "high", "top")
TYPES = ("alpha", "beta", "gamma")
PLAIN = "flow"
"""The type without emission and tiers."""
NASTY = "<img src=x onerror=alert(1)>\"'&</script>"


def miners(many: int, chance: random.Random) -> tuple[MinerTotals, ...]:
    keys = {f"5{chance.getrandbits(230):046x}" for _ in range(many - 1)} | {NASTY}
    return tuple(MinerTotals(key, uid) for uid, key in enumerate(sorted(keys)))


def identity(position: int, *, swept: bool) -> Identity:
    changes = (
        (SweptNumber("axes.policy.weight", f"0.{position:03d}", "0.5"),)
        if swept and position
        else ()
    )
    label = f"[{changes[0].path}={changes[0].value}]" if changes else ""
    name = f"rules@1.0.{0 if swept else position}"
    return Identity(name + label, name, f"sha256:{position:064x}", changes)


def migration(whole: int, chance: random.Random, *, same: bool) -> Counter[tuple[str, str]]:
    """Most records keep their tier, and fewer go farther."""
    pairs = [*product(range(len(TIERS)), repeat=2)]
    weights = [100 if i == j else 0 if same else 4 >> abs(i - j) for i, j in pairs]
    return Counter((TIERS[i], TIERS[j]) for i, j in chance.choices(pairs, weights, k=whole))


def type_outcome(
    name: str, records: Counter[str], pay: dict[str, int], chance: random.Random, *, first: bool
) -> TypeOutcome:
    plain, scored, spread = name == PLAIN, records.total(), 0 if first else 15
    gates = 0 if first else scored // 50
    moved = Counter() if plain else migration(scored, chance, same=first)
    tier = sum(many for (old, new), many in moved.items() if old != new)
    return TypeOutcome(
        None if plain else (TIERS, TIERS),
        has_quality=True,
        has_emission=not plain,
        records=records,
        quality=Counter({key: n * chance.randrange(NANO) for key, n in records.items()}),
        emission=Counter(
            {
                key: n * pay[key] * (100 + chance.randint(-spread, spread)) // 100
                for key, n in records.items()
            }
        ),
        rejected=Counter({} if first else {"own-rule": 3}),
        migration=moved,
        flips=FlipCounts(scored, tier, gates, tier + gates),
    )


def state(
    position: int,
    types: dict[str, TypeOutcome],
    who: tuple[MinerTotals, ...],
    chance: random.Random,
) -> StateOutcome:
    thresholds = {name: {"middle": chance.randrange(NANO)} for name in types if name != PLAIN}
    reputations = {
        each.hotkey: {name: chance.randrange(NANO) for name in thresholds} for each in who
    }
    return StateOutcome(
        epochs=12,
        final=EpochState(position, 15, 100, thresholds, reputations),
        emission={n: t.emission.total() for n, t in types.items() if t.has_emission},
        round_scores={each.hotkey: chance.randrange(NANO) for each in who},
    )


def outcome(
    candidates: int = 1,
    many: int = 40,
    *,
    swept: bool = False,
    replayed: bool = False,
    seed: int = 1,
) -> Outcome:
    """A baseline and some candidates over some miners."""
    chance = random.Random(seed)
    who = miners(many, chance)
    names = (*TYPES, PLAIN)
    keys = [each.hotkey for each in who]
    records = {
        name: Counter({**{key: chance.choice([0, 1, 5, 30]) for key in keys}, keys[-1]: 2})
        for name in names
    }
    pay = {name: {key: round(NANO * chance.paretovariate(2)) for key in keys} for name in names}
    found = []
    for position in range(candidates + 1):
        types = {
            name: type_outcome(name, records[name], pay[name], chance, first=position == 0)
            for name in names
        }
        replay = state(position, types, who, chance) if replayed else None
        given = identity(position, swept=swept)
        thresholds = {
            name: {
                key: ThresholdRange(seed, seed + (position + 1) * NANO // 100 if replayed else seed)
                for key, seed in (("middle", NANO // 4), ("high", NANO // 2))
            }
            for name in names
            if name != PLAIN
        }
        found.append(CandidateOutcome(given, types, replay, proposal(given), thresholds=thresholds))
    whole = {name: counts.total() for name, counts in records.items()}
    history = History(
        "year.parquet",
        f"sha256:{'ab' * 32}",
        sum(whole.values()) + 4,
        whole,
        {"bad": 4},
        Period(tuple(epoch << 31 | 30 * epoch + n for epoch in range(3, 15) for n in range(30))),
    )
    return Outcome(history, who, tuple(found), {"plain": "made-up 2.1"}, tracks=True)


def proposal(found: Identity) -> Proposal:
    """What a candidate changes of the baseline, and why; the baseline changes nothing."""
    if found.changes:
        changes = [RuleChange(each.path, "changed", "0.5", each.value) for each in found.changes]
        return Proposal("Made-up rules", "made-up.txt", tuple(changes))
    if found.name == "rules@1.0.0":
        return Proposal("Made-up rules", "made-up.txt")
    return Proposal(
        f"Pays care more & {NASTY}",
        "made-up.txt",
        (
            RuleChange("axes.care.slope", "added", None, "0.4"),
            RuleChange("axes.policy.weight", "changed", "0.5", "0.25"),
            RuleChange("tiers.levels[top].note", "removed", NASTY, None),
        ),
        (FormulaChange("made-up/care@2", "added", (), ("care = 1 − slope · risk",)),),
        (FormulaUse("made-up/care@2", ("slope",), ("care = 1 − slope · risk",)),),
    )


def compared(found: Outcome) -> list[CandidateComparison]:
    """Every candidate of an outcome against its baseline, with some flips of each."""
    positions = range(1, len(found.candidates))
    distances = {(n, "alpha"): FlipDistances.of(flips(found, n)) for n in positions}
    return [compare(found, n, distances) for n in positions]


def uncertain(found: CandidateComparison) -> CandidateComparison:
    """A comparison with intervals around what it says."""
    chance = random.Random(1)

    def around(value: int, most: int) -> Interval:
        return Interval(value - chance.randrange(most), value + chance.randrange(most))

    moved = found.overall.moved or 0
    known = Uncertainty(
        Bootstrap(),
        360,
        12,
        around(moved, moved // 2 + 1),
        around(found.flips.records, found.flips.records // 3 + 1),
        {
            each.miner.hotkey: around(each.share_change, NANO // 50)
            for each in found.overall.changes()
        },
        epochs=12,
    )
    return attrs.evolve(found, uncertainty=known)


def network(*stakes: int) -> Network:
    """Validators with some stakes, in a subnet of today."""
    validators = tuple(Validator(f"{n}{NASTY}", stake) for n, stake in enumerate(stakes))
    return Network(validators, 0, YumaParameters(yuma3=True))


def effect(
    miners: Sequence[MinerTotals], before: Sequence[int], after: Sequence[int], given: Network
) -> Incentives:
    """What it does to a network that miners have other weights."""
    keys = [each.hotkey for each in miners]
    old, new = (Weighed(dict(zip(keys, each, strict=True))) for each in (before, after))
    return incentives(miners, old, new, given)


def adopted(found: CandidateComparison) -> CandidateComparison:
    """A comparison with what four validators make of it."""
    paid, four = found.overall, network(34, 33, 20, 13)
    return attrs.evolve(found, incentives=effect(paid.miners, paid.before, paid.after, four))


def flips(found: Outcome, candidate: int, many: int = 50) -> FlipRows:
    """Some flips of a candidate; every fifth is of a gate."""
    chance = random.Random(candidate)
    who = [chance.choice(found.miners) for _ in range(many)]
    gates = [i % 5 == 0 for i in range(many)]
    distances = [chance.choice([-1, 1]) * 10 ** chance.randrange(9) for _ in range(many)]

    def column() -> np.ndarray:
        return np.array([chance.randrange(NANO) for _ in range(many)], np.int64)

    return FlipRows(
        candidate,
        "alpha",
        np.arange(1, many + 1),
        pa.array([f"task {i}" for i in range(many)]),
        np.array([each.uid for each in who]),
        pa.array([each.hotkey for each in who]),
        column(),
        column(),
        pa.array([None if gate else "low" for gate in gates], pa.string()),
        pa.array([None if gate else "middle" for gate in gates], pa.string()),
        column(),
        column(),
        pa.array([None] * many, pa.string()),
        pa.array(["care" if gate else None for gate in gates], pa.string()),
        pa.array([None if g else d for g, d in zip(gates, distances, strict=True)], pa.int64()),
        pa.array([d if g else None for g, d in zip(gates, distances, strict=True)], pa.int64()),
    )
