"""Comparisons of what work is worth: weights, gates, tiers, base weights, factors, emissions.

Figures are those of both rule sets. What they have not both is no finding here: a type, an axis or
a level that is gone is told as such.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from itertools import pairwise, permutations
from statistics import median

from tallystick.diagnostics import Severity
from tallystick.formula.text import fact_text
from tallystick.formula.tree import Kind, leaves
from tallystick.numbers.nano import NANO, to_text
from tallystick.numbers.text import fraction
from tallystick.rules.findings import Finding
from tallystick.rules.toml import KeyPath
from tallystick.scoring.bound import BoundType
from tallystick.scoring.composite import Gate
from tallystick.scoring.lint import comparison, more
from tallystick.scoring.scorer import Scorer
from tallystick.scoring.scores import derive
from tallystick_governance.lint.answers import Trial, trials
from tallystick_governance.lint.gates import can_change
from tallystick_governance.lint.tiers import levels_of
from tallystick_governance.lint.type_probe import values_of
from tallystick_governance.ranges import composite_range

_FALL = Fraction(1, 10)
"""Least fall of a weight to half or less that is a finding."""
_RISE = Fraction(1, 4)
"""Least rise of a weight beyond half that is a finding."""
_HALF = Fraction(1, 2)
_MOVED = NANO // 5
"""Least change of a quality or of a threshold that is a finding, in nano."""
_POOR, _GOOD = (NANO // 20, NANO // 4, NANO // 2), (3 * NANO // 4, 9 * NANO // 10, NANO)
"""Values of all axes at which poor and good work are compared, in nano."""
_CLOSE = 4
"""Least ratio of what was to what is left of it, of a small weight or between two tiers, that is a
finding."""
_TWICE = 2
"""Ratio of two figures beyond which, either way, the pay of something is another."""


def types_of(old: Scorer, new: Scorer) -> Iterator[tuple[BoundType, BoundType]]:
    """Yield each skill type that two rule sets have."""
    for name, bound in new.types.items():
        if name in old.types:
            yield old.types[name], bound


def _shares(
    old: Scorer, new: Scorer
) -> Iterator[tuple[KeyPath, Mapping[str, Fraction], Mapping[str, Fraction]]]:
    """Yield weights that sum to 1 in both rule sets: of axes, and parameters of one formula."""
    types = old.rule_set.skill_types
    for name, rules in new.rule_set.skill_types.items():
        if name in types and rules.weights and types[name].weights:
            yield (
                ("skill_types", name, "weights"),
                _exact(types[name].weights),
                _exact(rules.weights),
            )
    emissions = old.rule_set.emission, new.rule_set.emission
    if emissions[0] is None or emissions[1] is None:
        return
    for name, factor in emissions[1].factors.items():
        before = emissions[0].factors.get(name)
        if before is not None and before.formula == factor.formula:
            names = new.registry.formulas[factor.formula].sums_to_one
            if names:
                first, second = (
                    {key: Fraction(f.parameters[key]) for key in names} for f in (before, factor)
                )
                yield ("emission", "factors", name), first, second


def _exact(weights: Mapping[str, object]) -> dict[str, Fraction]:
    return {name: Fraction(str(weight)) for name, weight in weights.items()}


@comparison("weight-falls", "warning")
def _weight_falls(old: Scorer, new: Scorer) -> Iterator[Finding]:
    """Something weighs half of what it weighed, or less.

    Of weights that sum to 1, one is at most half of what it was and at least 0.1 less, or at most a
    quarter and half of that less, or it is nothing any more. What it weighs hardly matters now. An
    axis that pays for saving alone, such as time, is told only where it is gone.

    Remedy: move weights by less at a time, or say in the proposal why this matters less.
    """
    for path, before, after in _shares(old, new):
        saving = _saving_axes(new, path)
        for name, weight in before.items():
            now = after.get(name, Fraction(0))
            falls = [(_TWICE, _FALL), (_CLOSE, _FALL / _TWICE)]
            is_much = any(weight >= n * now and weight - now >= least for n, least in falls)
            if weight and (not now or (is_much and name not in saving)):
                yield Finding(
                    (*path, name) if name in after else path,
                    f"{name} weighs {fraction(now)} in {path[-2 if saving else -1]}, "
                    f"{fraction(weight)} before",
                    {"weight": name, "was": fraction(weight), "now": fraction(now)},
                )


@comparison("weight-dominates", "warning", more("now"))
def _weight_dominates(old: Scorer, new: Scorer) -> Iterator[Finding]:
    """Something weighs more than all else together.

    Of weights that sum to 1, one is above 0.5 and at least 0.25 more than before. It decides nearly
    alone.

    Remedy: move weights by less at a time, or say in the proposal why this decides.
    """
    for path, before, after in _shares(old, new):
        for name, now in after.items():
            weight = before.get(name, Fraction(0))
            if now > _HALF and now - weight >= _RISE:
                yield Finding(
                    (*path, name),
                    f"{name} weighs {fraction(now)}, more than all else together; "
                    f"{fraction(weight)} before",
                    {"weight": name, "was": fraction(weight), "now": fraction(now)},
                )


@comparison("saving-outweighs-work", "warning", more("now"))
def _saving_outweighs_work(old: Scorer, new: Scorer) -> Iterator[Finding]:
    """Savings weigh more than work.

    An axis pays for saving where less is better of every fact with a direction that it reads: of
    time, of money. Such axes weigh more than half together, or one of them weighs more than every
    other axis, and it was not so before. Then hurrying pays better than working well.

    Remedy: let what is verified weigh more than what is saved.
    """
    for path, before, after in _shares(old, new):
        saving = _saving_axes(new, path)
        was, now = (
            sum((weights.get(n, Fraction(0)) for n in saving), Fraction(0))
            for weights in (before, after)
        )
        is_first = [_is_first(weights, saving) for weights in (before, after)]
        if saving and ((now > _HALF >= was) or (is_first[1] and not is_first[0])):
            names = ", ".join(name for name in after if name in saving)
            yield Finding(
                path,
                f"{names} of {path[1]}, which pay for what is saved, weigh {fraction(now)} "
                f"together, {fraction(was)} before",
                {"axes": sorted(saving), "was": fraction(was), "now": fraction(now)},
            )


def _is_first(weights: Mapping[str, Fraction], names: frozenset[str]) -> bool:
    """Return whether one of some names weighs more than every other one."""
    of_names = max((w for name, w in weights.items() if name in names), default=Fraction(0))
    return of_names > max(
        (w for name, w in weights.items() if name not in names), default=Fraction(0)
    )


def _saving_axes(scorer: Scorer, path: KeyPath) -> frozenset[str]:
    """Return the axes of a type that pay for what is saved alone."""
    if path[0] != "skill_types":
        return frozenset()
    name = str(path[1])
    directions = scorer.registry.skill_types[name].directions
    better = {direction.fact.digest: direction.better for direction in directions}
    saving = set[str]()
    for axis in scorer.types[name].axes:
        read = {better[fact.digest] for fact in leaves(axis.tree, "fact") if fact.digest in better}
        if read == {"less"}:
            saving.add(axis.name)
    return frozenset(saving)


@comparison("gate-weaker", "warning")
def _gate_weaker(old: Scorer, new: Scorer) -> Iterator[Finding]:
    """A gate that is gone, begins lower, or leaves more.

    A gate of a type closes at fewer values of its axis than before, or leaves a higher composite
    where it closes. Where no composite can change by that, it is a note; where the gate now pays
    more than the composite could be there, an error.

    Remedy: keep the gate, or say in the proposal what takes its place.
    """
    for before, bound in types_of(old, new):
        places = {gate.axis: (index, gate) for index, gate in enumerate(bound.gates)}
        for gate in before.gates:
            finding = _weaker(before, gate, bound, places.get(gate.axis))
            if finding is not None:
                yield finding


def _weaker(
    before: BoundType, gate: Gate, bound: BoundType, placed: tuple[int, Gate] | None
) -> Finding | None:
    """Return in which way a gate is weaker than before; None where it is not."""
    path: KeyPath = ("skill_types", bound.name)
    name, severity = f"the gate of {bound.name} on {gate.axis}", None
    if placed is None:
        text = f"{name} below {to_text(gate.below)} is gone"
        severity = _if_changes(before, gate, 0)
    else:
        index, now = placed
        path = (*path, "gates", index)
        if now.below < gate.below:
            text = f"{name} is below {to_text(now.below)}, {to_text(gate.below)} before"
            severity = _if_changes(before, gate, now.below)
        elif now.composite > gate.composite:
            text = f"{name} leaves {to_text(now.composite)}, {to_text(gate.composite)} before"
            severity = "error" if _pays(bound, now) else None
        else:
            return None
    return Finding(path, text, {"skill_type": bound.name, "axis": gate.axis}, severity)


def _if_changes(bound: BoundType, gate: Gate, least: int) -> Severity | None:
    """Return a note where a gate changes nothing at values of its axis from a least one on."""
    return None if can_change(bound, gate, least) else "note"


def _pays(bound: BoundType, gate: Gate) -> bool:
    """Return whether a gate leaves more than the composite can be where it closes."""
    axis = next(axis for axis in bound.axes if axis.name == gate.axis)
    ranges = values_of(bound, axis).below(gate.below)
    return any(composite_range(bound, {gate.axis: r})[1] < gate.composite for r in ranges)


@comparison("good-work-pays-less", "warning", more("fall"))
def _good_work_pays_less(old: Scorer, new: Scorer) -> Iterator[Finding]:
    """Good work has a much lower quality than before.

    The quality is computed with all axes at three quarters, nine tenths and 1. It is at least
    0.200000000 lower at one of them; where nothing is left it is an error.

    Remedy: let the gate begin lower, or the composite fall by less.
    """
    for before, bound in _scored(old, new):
        at, was, now = _furthest(before, bound, _GOOD)
        if was - now >= _MOVED:
            yield _quality_finding(bound, at, was, now, "error" if not now else None)


@comparison("poor-work-pays-more", "warning", more("rise"))
def _poor_work_pays_more(old: Scorer, new: Scorer) -> Iterator[Finding]:
    """Poor work has a much higher quality than before.

    The quality is computed with all axes at a twentieth, a quarter and a half. It is at least
    0.200000000 higher at one of them.

    Remedy: let poor work be worth no more than it is without the gate.
    """
    for before, bound in _scored(old, new):
        at, now, was = _furthest(bound, before, _POOR)
        if now - was >= _MOVED:
            yield _quality_finding(bound, at, was, now, None)


def _scored(old: Scorer, new: Scorer) -> Iterator[tuple[BoundType, BoundType]]:
    """Yield each skill type that has a quality in both rule sets."""
    for before, bound in types_of(old, new):
        if before.has_quality and bound.has_quality:
            yield before, bound


def _furthest(one: BoundType, other: BoundType, points: Iterable[int]) -> tuple[int, int, int]:
    """Return the value of all axes at which one type is the most above another, and both there."""
    found = ((at, _quality(one, at), _quality(other, at)) for at in points)
    return max(found, key=lambda each: each[1] - each[2])


def _quality(bound: BoundType, at: int, failed: str | None = None) -> int:
    """Return the quality where all axes have one value, and perhaps one of them has nothing."""
    axes = {axis: 0 if axis.name == failed else at for axis in bound.axes}
    return derive(bound, bound.quality, axes)


def _quality_finding(
    bound: BoundType, at: int, was: int, now: int, severity: Severity | None
) -> Finding:
    return Finding(
        ("skill_types", bound.name),
        f"with all axes at {to_text(at)} the quality of {bound.name} is {to_text(now)}, "
        f"{to_text(was)} before",
        {
            "skill_type": bound.name,
            "axes": to_text(at),
            "was": to_text(was),
            "now": to_text(now),
            "fall": to_text(was - now),
            "rise": to_text(now - was),
        },
        severity,
    )


@comparison("failed-axis-costs-less", "warning", more("axes"))
def _failed_axis_costs_less(old: Scorer, new: Scorer) -> Iterator[Finding]:
    """An answer that fails an axis keeps much more than before.

    The quality is computed with one axis at 0 and all others at 1, for each axis that both rule
    sets weigh. It is at least 0.200000000 higher, such as where a geometric mean becomes an
    arithmetic one: what made everything worthless is now one part of several.

    Remedy: keep the composite, or gate the axes that must not fail.
    """
    for before, bound in _scored(old, new):
        both = [a for a in _weighed(bound) if a in _weighed(before)]
        kept = {a: (_quality(before, NANO, a), _quality(bound, NANO, a)) for a in both}
        cheaper = {a: pair for a, pair in kept.items() if pair[1] - pair[0] >= _MOVED}
        if cheaper:
            texts = [
                f"{a} {to_text(now)}, {to_text(was)} before" for a, (was, now) in cheaper.items()
            ]
            yield Finding(
                ("skill_types", bound.name, "composite"),
                f"the quality of {bound.name} with one axis at 0 and all others at 1: "
                f"{'; '.join(texts)}",
                {"skill_type": bound.name, "axes": list(cheaper)},
            )


def _weighed(bound: BoundType) -> list[str]:
    return [axis.name for axis in bound.axes] if bound.mean is None else list(bound.mean.shares)


@comparison("tier-moves", "warning")
def _tier_moves(old: Scorer, new: Scorer) -> Iterator[Finding]:
    """A tier begins elsewhere, or hardly above the one below.

    The threshold of each level is computed at the seed baseline of each type. It is at least
    0.200000000 away from where it was: work that had the tier loses it, or much more work has it.
    Or it is less than a quarter as far above the one below as before. Of a baseline that moves, the
    levels above are not told again.

    Remedy: move the threshold by less at a time.
    """
    for before, bound in types_of(old, new):
        if before.tiers is None or bound.tiers is None:
            continue
        lower: str | None = None
        for cut in bound.tiers.cuts:
            was, now = before.seeds.get(cut), bound.seeds[cut]
            if was is None:
                continue
            gaps = (was, now)
            if lower is not None:
                gaps = (was - before.seeds[lower], now - bound.seeds[lower])
            is_near = lower is not None and 0 < _CLOSE * gaps[1] < gaps[0]
            if abs(was - now) >= _MOVED or is_near:
                yield _moved_tier(bound, cut, was, now)
                if cut in bound.tiers.tracked:
                    break
            lower = cut


def _moved_tier(bound: BoundType, cut: str, was: int, now: int) -> Finding:
    is_seed = bound.tiers is not None and cut in bound.tiers.tracked
    return Finding(
        ("skill_types", bound.name, "baseline") if is_seed else ("tiers", "thresholds", cut),
        f"the threshold {cut} of {bound.name} is {to_text(now)}, {to_text(was)} before",
        {"skill_type": bound.name, "was": to_text(was), "now": to_text(now)},
    )


@comparison("tier-pays-otherwise", "warning")
def _tier_pays_otherwise(old: Scorer, new: Scorer) -> Iterator[Finding]:
    """A tier is paid twice as much or half as much, or no more than the one below.

    The multiplier of a level, by its name, is at least twice what it was, or at most half; or it
    was above that of the level below, and is no more now.

    Remedy: move the multiplier by less at a time.
    """
    before = {level.name: level for level in levels_of(old)}
    levels = levels_of(new)
    for index, level in enumerate(levels):
        earlier = before.get(level.name)
        if earlier is None:
            continue
        was, now = Fraction(earlier.multiplier), Fraction(level.multiplier)
        if was != now and (now >= _TWICE * was or was >= _TWICE * now):
            yield Finding(
                ("tiers", "levels", index, "multiplier"),
                f"{level.name} is multiplied by {fraction(now)}, by {fraction(was)} before",
                {"level": level.name, "was": fraction(was), "now": fraction(now)},
            )
    for index, (low, high) in enumerate(pairwise(levels), 1):
        pair = before.get(low.name), before.get(high.name)
        if pair[0] is None or pair[1] is None or low.multiplier != high.multiplier:
            continue
        if pair[1].multiplier > pair[0].multiplier:
            yield Finding(
                ("tiers", "levels", index, "multiplier"),
                f"{high.name} is paid as {low.name} now, by {fraction(Fraction(high.multiplier))}",
                {"level": high.name, "lower_level": low.name},
            )


@comparison("base-weight-moves", "warning", more("ratio"))
def _base_weight_moves(old: Scorer, new: Scorer) -> Iterator[Finding]:
    """A skill type is worth more than twice or less than half of what it was beside the others.

    The ratio of the base weight of each type to what it was, over the median of these ratios: so a
    type stands out that moves while others stay. Where all of them move together, that is told of
    each.

    Remedy: move the base weight by less at a time.
    """
    pairs = {
        bound.name: (before.base_weight, bound.base_weight)
        for before, bound in types_of(old, new)
        if before.base_weight and bound.base_weight
    }
    ratios = {name: Fraction(now or 0, was or 1) for name, (was, now) in pairs.items()}
    middle = median(ratios.values()) if ratios else Fraction(1)
    common = middle if _is_other(middle) else Fraction(1)
    for name, ratio in ratios.items():
        relative = ratio / middle
        if _is_other(relative) or _is_other(common):
            was, now = (to_text(weight or 0) for weight in pairs[name])
            figure = max(relative, 1 / relative, common, 1 / common)
            yield Finding(
                ("skill_types", name, "base_weight"),
                f"the base weight of {name} is {now}, {was} before",
                {"skill_type": name, "was": was, "now": now, "ratio": fraction(figure)},
            )


def _is_other(ratio: Fraction) -> bool:
    return ratio > _TWICE or ratio * _TWICE < 1


@comparison("emission-moves", "warning", more("ratio"))
def _emission_moves(old: Scorer, new: Scorer) -> Iterator[Finding]:
    """The most that a record can be paid is more than twice or less than half of what it was.

    The proved bound of the emission of each type, over its base weight, beside that of before. A
    bonus, a multiplier or another formula pays out of all proportion.

    Remedy: move factors and multipliers by less at a time.
    """
    for before, bound in types_of(old, new):
        if before.emission is None or bound.emission is None:
            continue
        was, now = (
            Fraction(b.emission.domain.high, b.base_weight or NANO)
            for b in (before, bound)
            if b.emission is not None
        )
        if was and now and _is_other(now / was):
            ratio = max(now / was, was / now)
            yield Finding(
                ("emission",),
                f"a record of {bound.name} is paid at most {fraction(now)} of its base weight, "
                f"{fraction(was)} before",
                {
                    "skill_type": bound.name,
                    "was": fraction(was),
                    "now": fraction(now),
                    "ratio": fraction(ratio),
                },
            )


_HIGHER = Fraction(3, 2)
"""Ratio of the ends of a factor beyond which a bonus is another one."""


@comparison("factor-moves", "warning")
def _factor_moves(old: Scorer, new: Scorer) -> Iterator[Finding]:
    """An emission factor is far from what it was.

    The largest value of a factor is more than one and a half times what it was, or less than two
    thirds; or the smallest, where it is not 0, more than twice or less than half, or it is 0 now.

    Remedy: move the parameters of the factor by less at a time.
    """
    told = set[str]()
    for before, bound in types_of(old, new):
        factors = {factor.name: factor for factor in before.factors}
        for factor in bound.factors:
            earlier = factors.get(factor.name)
            if earlier is None or factor.name in told:
                continue
            (low, high), (was_low, was_high) = (
                (f.domain.low, f.domain.high) for f in (factor, earlier)
            )
            is_bonus = not was_high <= high * _HIGHER or not high <= was_high * _HIGHER
            is_less = was_low > 0 and (low > _TWICE * was_low or low * _TWICE < was_low)
            if is_bonus or is_less:
                told.add(factor.name)
                yield Finding(
                    ("emission", "factors", factor.name),
                    f"{factor.name} is from {to_text(low)} to {to_text(high)} for {bound.name}, "
                    f"from {to_text(was_low)} to {to_text(was_high)} before",
                    {
                        "factor": factor.name,
                        "skill_type": bound.name,
                        "was": [to_text(was_low), to_text(was_high)],
                        "now": [to_text(low), to_text(high)],
                    },
                )


@comparison("factor-leaves-types", "warning", more("skill_types"))
def _factor_leaves_types(old: Scorer, new: Scorer) -> Iterator[Finding]:
    """An emission factor no longer counts for some skill types.

    A factor that counted for a type is 1 for all of its records now, as the type is not among its
    `skill_types`. What it lowered is paid in full there, and what it raised is not.

    Remedy: name the types that the factor is to count for.
    """
    emission = new.rule_set.emission
    for name in () if emission is None else emission.factors:
        left = [
            bound.name
            for before, bound in types_of(old, new)
            if bound.emission is not None
            and any(factor.name == name for factor in before.factors)
            and not any(factor.name == name for factor in bound.factors)
        ]
        if left:
            yield Finding(
                ("emission", "factors", name, "skill_types"),
                f"the factor {name} no longer counts for {', '.join(left)}",
                {"factor": name, "skill_types": left},
            )


@comparison("roles-reordered", "warning")
def _roles_reordered(old: Scorer, new: Scorer) -> Iterator[Finding]:
    """The better paid of two choices of a record is paid less.

    A factor that depends on a choice, such as the role in a group, is computed for each, all else
    the same. Which of them earns more is turned round, and the ratio of the two is more than twice
    or less than half of what it was. Both may be meant; miners will ask for what is paid more.

    Remedy: say in the proposal why the other choice is worth more now.
    """
    for trial in trials(old, new):
        yield from _turned_choices(trial)


def _turned_choices(trial: Trial) -> Iterator[Finding]:
    if trial.path[0] != "emission":
        return
    for fact in (trial.facts[digest] for digest in trial.read):
        if fact.kind is not Kind.CHOICE:
            continue
        base = next(trial.records(), None)
        if base is None:
            return
        options = trial.options(fact.digest)
        paid = {option: trial.paid({**base, fact.digest: option}) for option in options}
        for (was, now), (other_was, other_now) in permutations(paid.values(), 2):
            is_turned = was > other_was and now < other_now and other_was and now
            if is_turned and Fraction(was * other_now, other_was * now) > _TWICE:
                yield Finding(
                    trial.path,
                    f"by {fact_text(fact)}, what was paid {to_text(was)} beside "
                    f"{to_text(other_was)} is paid {to_text(now)} beside {to_text(other_now)}",
                    {"factor": str(trial.path[-1]), "choice": fact_text(fact)},
                )
