"""Subnets that pay by places, winners and fronts: their rule sets against their words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import combinations

import pytest
from allocation.mechanisms import (
    Mechanism,
    Memory,
    Rows,
    Values,
    added,
    burnt,
    dated,
    exp,
    expected,
    folded,
    hotkeys,
    irrational,
    ladder,
    lists,
    mean,
    numbers,
    powers,
    ranked,
    rest,
    rounds_of,
    share,
    texts,
    weights_of,
)

ONE = Fraction(1)
TRACKS = ("repositories", "packages", "mcp_servers", "skills")


def front(points: Mapping[str, Sequence[Fraction]], commit: Values) -> list[str]:
    """Who is on a Pareto front, where an earlier commit holds by 2 %."""

    def is_covered(point: Sequence[Fraction], other: Sequence[Fraction]) -> bool:
        return all(one <= two for one, two in zip(point, other, strict=True))

    def by_more(key: str) -> list[Fraction]:
        return [value * Fraction("1.02") for value in points[key]]

    standing: list[str] = []
    for key in sorted(points, key=lambda key: (commit[key], key)):
        if not any(is_covered(points[key], by_more(old)) for old in standing):
            standing = [old for old in standing if not is_covered(by_more(old), points[key])]
            standing.append(key)
    return standing


# Bob is within 2 % of Ada, then ahead of it by more; Eve is within 2 % of Bob. In the last round
# all eight are on the front: by 128, 64, … 1 of 255, of which 2 and 1 are under 1 %.
AFFINE = """
hotkey commit a b
5Ada 1 0.8 0.5
5Bob 2 0.81 0.505
5Cyd 3 0.5 0.9
5Dot 4 0.49 0.89
---
5Ada 1 0.8 0.5
5Bob 2 0.83 0.52
5Cyd 3 0.5 0.9
5Dot 4 0.51 0.9181
5Eve 9 0.829 0.53
---
5Ada 1 0.1 0.95
5Bob 2 0.2 0.88
5Cyd 3 0.3 0.8
5Eve 9 0.4 0.72
5Fay 10 0.5 0.61
5Gil 11 0.6 0.5
5Hal 12 0.7 0.41
5Ivy 13 0.8 0.3
"""


def affine(rows: Rows, _: Memory) -> Values:
    a, b, commit = (numbers(rows, name) for name in ("a", "b", "commit"))
    on_front = front({key: (a[key], b[key]) for key in a}, commit)
    order = ranked({key: (a[key] + b[key]) / 2 for key in on_front}, commit)
    parts = ladder(order, powers("0.5"))
    kept = {key: part for key, part in parts.items() if part >= Fraction("0.01")}
    return rest(kept, "uid:0@4200000")


KINITRO = """
hotkey commit a b c
5Ada 11 0.62 0.71 0.4
5Bob 14 0.63 0.7 0.41
5Cyd 12 0.3 0.75 0.77
5Dot 19 0.1 0.2 0.3
5Eve 20 0.31 0.2 -
---
5Ada 11 0.62 0.71 0.4
5Bob 14 0.6325 0.73 0.45
5Cyd 12 0.3 0.75 0.77
5Gil 30 0.306 0.7651 0.7855
---
5Ada 11 0 0 0
5Bob 14 0.64 0.731 0.455
5Fay 31 0.99 0.01 0.02
5Gil 30 0.306 0.765 0.7853
"""


def kinitro(rows: Rows, _: Memory) -> Values:
    columns, commit = {name: numbers(rows, name) for name in "abc"}, numbers(rows, "commit")
    won = Values()
    for size, part in ((1, "0.1"), (2, "0.15"), (3, "0.25")):
        for names in combinations("abc", size):
            there = [key for key in commit if all(key in columns[name] for name in names)]
            points = {key: [columns[name][key] for name in names] for key in there}
            won = added(("1", won), (part, dict.fromkeys(front(points, commit), ONE)))
    return share({key: exp(value / Fraction("0.2")) for key, value in won.items()})


APEX = """
hotkey track block score pay
5Ada repositories 1 0.9 0.31
5Bob repositories 2 0.9 0.31
5Bob packages 2 0.2 0.17
5Cyd packages 3 0.19 0.17
5Cyd skills 3 0 0.45
---
5Ada repositories 1 0.77 0.3
5Bob repositories 2 0.78 0.3
5Bob packages 2 0.2 0.17
5Dot mcp_servers 8 0.0009 0.0423
---
5Bob repositories 2 0.5 0
5Dot mcp_servers 8 0.2 0.07
5Eve mcp_servers 9 0.3 0.07
5Eve skills 9 0.3 0.9
"""


def apex(rows: Rows, _: Memory) -> Values:
    paid = Values()
    for track in TRACKS:
        here = [row for row in rows if row["track"] == track]
        scores = {key: score for key, score in numbers(here, "score").items() if score > 0}
        for winner in ranked(scores, numbers(here, "block"))[:1]:
            paid = added(("1", paid), ("1", {winner: numbers(here, "pay")[winner]}))
    return share(paid)


NOVA = """
hotkey block small large
5Ada 5 -3.5 2.25
5Bob 6 7.125 2.25
5Cyd 4 7.1249 -0.1
---
5Ada 5 1.5 -
5Bob 6 -0.2 -4
5Dot 9 1.5 0
---
5Ada 5 0.0009 0
5Dot 9 -1 -2
---
5Ada 5 0 0
5Dot 9 -1 -2
---
5Dot 9 0 0.0009
"""


def nova(rows: Rows, _: Memory) -> Values:
    parts, block = [], numbers(rows, "block")
    for part, column in (("0.4", "small"), ("0.6", "large")):
        able = {key: value for key, value in numbers(rows, column).items() if value > 0}
        winner = next(iter(ranked(able, block)), "uid:0@4200000")
        parts.append((part, {winner: ONE}))
    return added(*parts)


RESI = """
hotkey block score
5Ada 5 0.9
5Bob 3 0.8975
5Cyd 1 0.897
---
5Ada 5 0.9
5Bob 3 0.8972
5Dot 8 0.91
5Eve 7 0.9099
---
5Dot 8 0.91
5Eve 7 0.9072
5Fay 2 0
---
5Dot 8 0.91
5Eve 7 0.9073
"""


def resi(rows: Rows, _: Memory) -> Values:
    scores, block = numbers(rows, "score"), numbers(rows, "block")
    near = [key for key in scores if scores[key] >= max(scores.values()) * Fraction("0.997")]
    winner = min(near, key=lambda key: (block[key], key))
    others = {key: value for key, value in scores.items() if key != winner}
    return folded(("0.99", {winner: ONE}), ("0.01", share(others)))


MANY = "\n".join(
    f"5M{n:02} {900 - n} 0.{100 + n * 197 % 811} {'0.39' if n % 9 == 0 else '0.4'}"
    for n in range(1, 62)
)
MIID = f"""
hotkey block score reputation
5Ada 1 0.71 0.83
5Bob 2 0.71 0.4
5Cyd 3 0.99 0.399
5Dot 4 0.33 -
---
5Ada 1 0.52,0.61 0.84
5Cyd 3 0.98 0.41
5Eve 7 0 0.9
---
{MANY}
"""


def miid(rows: Rows, _: Memory) -> Values:
    reputation = numbers(rows, "reputation")
    scores = {key: mean(values) for key, values in lists(rows, "score").items()}
    trusted = {k: v for k, v in scores.items() if reputation.get(k, 0) >= Fraction("0.4")}
    best = ranked(trusted, numbers(rows, "block"))[:50]
    parts = share({key: trusted[key] for key in best})
    mixed = folded(("0.5", ladder(best, powers("0.367879441"))), ("0.5", parts))
    return burnt(mixed, {"owner": "0.3", "5Partner": "0.35"})


TEMPLAR = """
hotkey block rating
5Ada 1 31.25
5Bob 2 28.5
5Cyd 3 31.25
5Dot 4 28.5
5Eve 5 0.3
5Fay 6 0
5Gil 7 0
---
5Ada 1 30.1
5Bob 2 29.9
5Dot 4 29.8
5Hal 9 29.8
---
5Ada 1 30.2
5Hal 9 29.7
"""


def templar(rows: Rows, _: Memory) -> Values:
    order = ranked(numbers(rows, "rating"), numbers(rows, "block"))
    best, reserve = order[:3], order[3:6]
    first = ladder(best, range(len(best), 0, -1))
    part = folded(("0.75", first), ("0.25", ladder(reserve, powers("0.75"))))
    return burnt(part, {"owner": "0.5"})


ZEUS = """
hotkey block a b
5Ada 1 0.7 0.3
5Bob 2 0.6 0.5
5Cyd 3 0.6 0.1
5Dot 4 - 0.2
5Eve 5 0.0005 -
---
5Ada 1 0.7,0.71 0.3
5Bob 2 0.6 0.3
5Cyd 3 0.8 -
5Fay 9 0.705 0.29
---
5Bob 2 0.6 0.3
---
5Ada 1 0.5 0.5
5Bob 2 0.5 0.5
5Gil 11 - 0.0004
5Hal 10 - -
"""


def mean_ranks(*columns: Values) -> Values:
    """The mean of the places, from 1, where equals share theirs."""
    ranks = [
        {
            key: sum((own < other for other in column.values()), ONE)
            + Fraction(sum(own == other for other in column.values()) - 1, 2)
            for key, own in column.items()
        }
        for column in columns
    ]
    return {key: mean([rank[key] for rank in ranks]) for key in columns[0]}


def zeus(rows: Rows, _: Memory) -> Values:
    none = dict.fromkeys(hotkeys(rows), Fraction())
    a, b = (
        none | {key: mean(values) for key, values in lists(rows, name).items()} for name in "ab"
    )
    order = ranked({k: -rank for k, rank in mean_ranks(a, b).items()}, numbers(rows, "block"))
    others = order[1:]
    steps = (irrational(Fraction(n + 1), lambda n: n.ln()) for n in range(len(others), 0, -1))
    part = folded(("0.95", {order[0]: ONE}), ("0.05", ladder(others, steps)))
    return burnt(part, {"owner": "0.2"})


def played(now: int) -> str:
    """The records up to a round: whoever is there in all, in every other, in every third round…"""
    plays = {
        "5Ada 1": range(1, now + 1),
        "5Bob 2": range(2, now + 1, 2),
        "5Cyd 3": range(1, now + 1, 3),
        "5Dot 4": range(13, now + 1),
        "5Eve 5": range(1, min(now, 14) + 1),
        "5Fay 6": range(2, now + 1, 2),
    }
    rows = []
    for seed, (miner, rounds) in enumerate(plays.items()):
        # the last plays as the second does, but later
        base = 41 if seed in (1, 5) else 13 + 29 * seed
        values = [f"0.{200 + base * number % 611}@{number}" for number in rounds]
        rows.append(f"{miner} {','.join(values) or '-'}")
    return "\n".join(rows)


MINOS = "hotkey block score\n" + "\n---\n".join(map(played, (20, 22, 25)))


def minos(rows: Rows, _: Memory) -> Values:
    recent = dated(rows, "score", within=20)
    steady = {
        key: mean([value for value, _ in entries])
        for key, entries in recent.items()
        if len({age for _, age in entries}) >= 10
    }
    best, *others = ranked(steady, numbers(rows, "block"))
    paid = added(("0.1", {best: ONE}), ("0.03", ladder(others, powers("0.8"))))
    return rest(paid, "owner")


REDTEAM = """
hotkey track coldkey address block score
5Ada repositories C1 A1 1 0.61
5Bob repositories C1 A2 2 0.6
5Cyd repositories C2 A1 3 0.59
5Dot repositories C3 A3 4 0.33
5Dot packages C3 A3 4 0.2
5Eve packages C4 A3 5 0.2
5Fay skills C5 A4 6 0
---
5Ada repositories C1 A1 1 0.52
5Bob repositories C1 A2 2 0.52
5Cyd repositories C2 A1 3 0.47
5Dot packages C3 A3 4 0.2,0.25
5Gil mcp_servers C6 A6 9 0.07
---
5Ada skills C1 A1 1 0.5
5Gil skills C6 A6 9 0.07
"""
CHALLENGES = {"repositories": "0.4", "packages": "0.3", "mcp_servers": "0.2", "skills": "0.1"}


def redteam(rows: Rows, _: Memory) -> Values:
    parts = []
    for challenge, part in CHALLENGES.items():
        here = [row for row in rows if row["track"] == challenge]
        scores = {key: mean(values) for key, values in lists(here, "score").items()}
        for name in ("coldkey", "address"):
            of, seen = texts(here, name), dict[str, str]()
            for key in ranked(scores, numbers(here, "block")):
                seen.setdefault(of[key], key)
            scores = {key: score for key, score in scores.items() if key in seen.values()}
        parts.append((part, share(scores)))
    return folded(*parts)


CASES: dict[str, tuple[Mechanism, str]] = {
    "affine": (affine, AFFINE),
    "kinitro": (kinitro, KINITRO),
    "apex": (apex, APEX),
    "nova": (nova, NOVA),
    "resi": (resi, RESI),
    "miid": (miid, MIID),
    "templar": (templar, TEMPLAR),
    "zeus": (zeus, ZEUS),
    "minos": (minos, MINOS),
    "redteam": (redteam, REDTEAM),
}


@pytest.mark.parametrize("name", CASES)
def test_a_subnet_pays_as_its_words_say(name: str) -> None:
    mechanism, text = CASES[name]
    rounds = rounds_of(text)
    assert weights_of(name, rounds) == expected(mechanism, rounds)
