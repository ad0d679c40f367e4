"""Chutes once more, in long decimals; it shares nothing with the engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from statistics import median
from typing import Any

PLACES = 80
PARTS = {"units": "0.52", "calls": "0.20", "unique": "0.20", "bounties": "0.08"}


def weights(miners: Sequence[Mapping[str, Any]]) -> dict[str, int] | None:
    """The weights in nano; None where nobody has a unique chute, or a best score is below 0."""
    features = {miner["hotkey"]: _features(miner) for miner in miners}
    coldkeys = {miner["hotkey"]: miner["coldkey"] for miner in miners}
    with localcontext(prec=PLACES):
        curve = _curve({hotkey: each["unique"] for hotkey, each in features.items()})
        if not sum(curve.values()):
            return None
        columns = {name: {h: _decimal(f[name]) for h, f in features.items()} for name in PARTS}
        columns["unique"] = curve
        scores = dict.fromkeys(features, Decimal(0))
        for name, column in columns.items():
            total = sum(column.values())
            for hotkey, value in column.items():
                scores[hotkey] += Decimal(PARTS[name]) * (value / total if total else 0)
        best: dict[str, str] = {}
        for hotkey in sorted(scores, key=str.encode):
            held = best.setdefault(coldkeys[hotkey], hotkey)
            if scores[hotkey] > scores[held]:
                best[coldkeys[hotkey]] = hotkey
        kept = {hotkey: scores[hotkey] for hotkey in best.values() if scores[hotkey]}
        if any(score < 0 for score in kept.values()):
            return None
        total = sum(kept.values())
        return {hotkey: _nano(value / total) for hotkey, value in kept.items()}


def _features(miner: Mapping[str, Any]) -> dict[str, Fraction]:
    private = miner.get("private") or {"instances": 0, "seconds": 0, "compute_units": 0}
    gpus, hours = miner.get("unique") or (0, 1)
    return {
        "units": Fraction(miner["compute_units"]) + Fraction(private["compute_units"]),
        "calls": Fraction(miner["invocation_count"] + int(Fraction(private["seconds"]))),
        "unique": Fraction(gpus // hours if hours else 0),
        "bounties": Fraction(miner["bounty_count"] + private["instances"]),
    }


def _curve(counts: Mapping[str, Fraction]) -> dict[str, Decimal]:
    some = [count for count in counts.values() if count]
    if not some:
        return dict.fromkeys(counts, Decimal(0))
    middle, largest = median(some), max(some)
    return {
        hotkey: _decimal(count / largest) ** Decimal("1.3" if count >= middle else "2.2")
        if count
        else Decimal(0)
        for hotkey, count in counts.items()
    }


def _decimal(value: Fraction) -> Decimal:
    return Decimal(value.numerator) / Decimal(value.denominator)


def _nano(value: Decimal) -> int:
    return int((value * 10**9).to_integral_value("ROUND_HALF_EVEN"))
