"""Phylax once more, in plain fractions and long decimals; it shares nothing with the engine."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

from third_party.real_projects import nano

Weights = dict[str, Fraction]

SHARES = {
    "repositories": Fraction(30, 100),
    "packages": Fraction(1, 4),
    "mcp_servers": Fraction(225, 1000),
}
SHARES["skills"] = SHARES["mcp_servers"]
CUTS = {
    "repositories": Fraction(1, 2),
    "packages": Fraction(1, 5),
    "mcp_servers": Fraction(1, 5),
    "skills": Fraction(1, 5),
}
PARTS = Fraction(1, 2), Fraction(3, 10), Fraction(1, 5)
DIMENSIONS = {
    "vulnerabilities": Fraction(1, 2),
    "supply_chain": Fraction(3, 10),
    "secrets": Fraction(1, 5),
}


def behavioural(tasks: Sequence[Mapping[str, Any]]) -> int:
    """The score of a behavioural track, in nano."""
    counts = {(True, True): 0, (True, False): 0, (False, True): 0, (False, False): 0}
    qualities: list[Fraction] = []
    for task in tasks:
        if task["malicious"] is None or task["verdict"] is None:
            continue
        flagged, times = task["verdict"] != "ALLOW", int(task.get("times", 1))
        counts[task["malicious"], flagged] += times
        matched, expected, reported = task.get("findings") or (0, 0, 0)
        if expected:
            right = flagged == task["malicious"]
            qualities += [
                Fraction(2 * matched, reported + expected) if right else Fraction(0)
            ] * times
    tp, fn = counts[True, True], counts[True, False]
    fp, tn = counts[False, True], counts[False, False]
    q = sum(qualities) / len(qualities) if qualities else None
    margins = (tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)
    if not tp + fn + fp + tn:
        return 0
    with localcontext(prec=80):
        mcc = max(
            Decimal(0), Decimal(tp * tn - fp * fn) / Decimal(margins).sqrt() if margins else 0
        )
        score = mcc if q is None else Decimal("0.7") * mcc + Decimal("0.3") * _decimal(q)
        return int((min(Decimal(1), score) * 10**9).to_integral_value("ROUND_HALF_EVEN"))


def _decimal(value: Fraction) -> Decimal:
    return Decimal(value.numerator) / Decimal(value.denominator)


def verdict(repetitions: Sequence[str | None]) -> str | None:
    """The lower median of what was completed."""
    order = ("ALLOW", "WARN", "BLOCK")
    done = sorted((each for each in repetitions if each), key=order.index)
    return done[(len(done) - 1) // 2] if done else None


def repositories(tasks: Sequence[Sequence[Mapping[str, Sequence[int]] | None]]) -> Fraction:
    """The score of the track of the repositories."""
    found = [_repository([each for each in task if each]) for task in tasks]
    return sum(found, Fraction(0)) / len(found) if found else Fraction(0)


def _repository(runs: Sequence[Mapping[str, Sequence[int]]]) -> Fraction:
    values = []
    for run in runs:
        present = sum(DIMENSIONS[name] for name in run)
        values.append(sum(DIMENSIONS[name] * f2(*counts) for name, counts in run.items()) / present)
    return sum(values, Fraction(0)) / len(values) if values else Fraction(0)


def f2(matched: int, expected: int, reported: int) -> Fraction:
    """The score of a dimension."""
    if not expected:
        return max(Fraction(0), 1 - Fraction(reported, 5))
    if not matched:
        return Fraction(0)
    precision, recall = Fraction(matched, reported), Fraction(matched, expected)
    return 5 * precision * recall / (4 * precision + recall)


def round_of(
    given: Mapping[str, Any], previous: Weights, reserved: tuple[str, Fraction]
) -> tuple[Weights, Weights, Weights]:
    """What is new in a round, what is carried on, and the weights."""
    salt = "".join(seed for _, seed in sorted(given["seeds"].items()))
    kept = {
        track: {
            h: Fraction(s) for h, s in of.items() if Fraction(s) > 0 and Fraction(s) >= CUTS[track]
        }
        for track, of in given["scores"].items()
    }
    kept = {track: of for track, of in kept.items() if of}
    idle = sum((share for track, share in SHARES.items() if track not in kept), Fraction())
    new: Weights = {}
    for track, scores in kept.items():

        def place(
            hotkey: str, track: str = track, scores: Weights = scores
        ) -> tuple[Fraction, str]:
            return -scores[hotkey], hashlib.sha256(f"{salt}:{track}:{hotkey}".encode()).hexdigest()

        best = sorted(scores, key=place)[: len(PARTS)]
        for hotkey, part in zip(best, PARTS, strict=False):
            share = (SHARES[track] + idle / len(kept)) * part / sum(PARTS[: len(best)])
            new[hotkey] = new.get(hotkey, Fraction(0)) + share
    helpers = {h for of in kept.values() for h in of} & set(given["contributors"])
    if helpers:
        new = {h: w * Fraction(95, 100) for h, w in new.items()}
        for hotkey in helpers:
            new[hotkey] = new.get(hotkey, Fraction(0)) + Fraction(5, 100) / len(helpers)
    smooth = {
        h: Fraction(3, 10) * w + Fraction(7, 10) * previous.get(h, Fraction(0))
        for h, w in new.items()
    }
    smooth = _normalised({h: w for h, w in smooth.items() if w > Fraction(1, 10**9)})
    carried = {h: Fraction(nano(w), 10**9) for h, w in smooth.items()}
    hotkey, share = reserved
    final = dict(carried)
    if final and hotkey and 0 < share < 1:
        final = {h: w * (1 - share) for h, w in final.items()}
        final[hotkey] = final.get(hotkey, Fraction(0)) + share
        final = _normalised(final)
    return new, carried, final


def _normalised(weights: Weights) -> Weights:
    total = sum(weights.values())
    return {h: w / total for h, w in weights.items()}
