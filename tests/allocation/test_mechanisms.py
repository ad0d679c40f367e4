"""Rule sets of subnets against their words: a mechanism in fractions pays the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from statistics import median
from typing import Any

import pytest
from allocation.mechanisms import (
    Mechanism,
    Memory,
    Row,
    Rows,
    Values,
    added,
    burnt,
    crowned,
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
    rounded,
    rounds_of,
    share,
    smoothed,
    texts,
    weights_of,
)

ONE = Fraction(1)

# averages, windows and payouts


def times(values: Values, factors: Values) -> Values:
    """Values times factors, of who has both."""
    return {key: value * factors[key] for key, value in values.items() if key in factors}


def means(rows: Rows, name: str) -> Values:
    return {key: mean(values) for key, values in lists(rows, name).items()}


def means_within(rows: Rows, name: str, within: int) -> Values:
    entries = dated(rows, name, within)
    return {key: mean([value for value, _ in of_one]) for key, of_one in entries.items()}


def to_power(values: Values, power: str) -> Values:
    """Values to a power of halves."""
    whole, half = divmod(Fraction(power), 1)
    return {
        key: value**whole * (irrational(value, lambda v: v.sqrt()) if half else 1)
        for key, value in values.items()
    }


DATA_UNIVERSE = """
hotkey data valid
5Ada 1234.5,77.25 0.91,0.87
5Bob 820.125 1
5Cyd 410 0
5Dot 0 0.5
---
5Ada 1301.75 -
5Bob 790.5 0.333
5Dot 12.375 0.75
5Eve 2000 0.42
---
5Bob 801.0625 0.9
5Cyd 333.25 0.61
5Dot 12.375 -
5Eve - 0.43
"""


def data_universe(rows: Rows, memory: Memory) -> Values:
    data = {key: sum(values, Fraction()) for key, values in lists(rows, "data").items()}
    credibility = smoothed(memory, means(rows, "valid"), ("0.15", "0.15"), here=hotkeys(rows))
    return burnt(share(times(data, to_power(credibility, "2.5"))), {"owner": "0.7"})


BITMIND = """
hotkey score
5Ada 0.87,0.913
5Bob 0.44
5Cyd 0
---
5Ada 0.79
5Bob -
5Dot 0.991,0.988,0.3
---
5Bob 0.441
5Dot 0.7
---
5Cyd 0
"""
ESCROWS = {"uid:6@4100000": "0.4", "uid:7@4100001": "0.3", "uid:8@4100002": "0.14"}


def bitmind(rows: Rows, memory: Memory) -> Values:
    return burnt(share(smoothed(memory, means(rows, "score"), ("0.1", "0.1"))), ESCROWS)


# in the first round Ada, Bob and Cyd are 0.05 apart by their means of the window: one temperature
SYNTH = """
hotkey coin gold
5Ada 0.1@3,0.7@4,0.9@7 0.5@6
5Bob 0.75@5 0.4@4,0.6@7
5Cyd 0.7@7,0.7@6,0.7@5,0.7@4 -
---
5Ada 0.7@4,0.9@7,0.82@8 0.5@6
5Bob 0.75@5,0.802@8 0.4@4,0.6@7
5Dot - 0.613@8
---
5Ada 0.9@7,0.82@8 0.5@6
5Bob 0.75@5,0.802@8,0.811@9 0.6@7,0.13@9
5Dot - 0.613@8,0.604@9
5Eve 0.001@9 -
"""


def synth(rows: Rows, _: Memory) -> Values:
    pools = []
    for part, column in (("0.6", "coin"), ("0.4", "gold")):
        rolling = means_within(rows, column, 4)
        soft = {key: exp(value / Fraction("0.05")) for key, value in rolling.items()}
        pools.append((part, share(soft)))
    return burnt(folded(*pools), {"uid:248@4200000": "0.5"})


GITTENSOR = """
hotkey track work
5Ada repositories 12.5@10,7.25@9,100@5
5Bob repositories 3.125@8,9@7
5Bob packages 1@6
5Cyd packages 2@5
---
5Ada repositories 12.5@10,7.25@9,100@5
5Bob repositories 3.125@8,9@7,4.75@11
5Bob packages 1@6
5Dot packages 0.333@9
---
5Bob repositories 3.125@8,4.75@11
5Dot packages 0.333@9
5Eve skills 41.5@12
"""
REPOSITORIES = {"repositories": "0.4", "packages": "0.3", "mcp_servers": "0.2", "skills": "0.1"}


def gittensor(rows: Rows, _: Memory) -> Values:
    decay = [rounded(1 / (1 + exp(Fraction(age - 2)))) for age in range(4)]
    parts = []
    for track, part in REPOSITORIES.items():
        here = [row for row in rows if row["track"] == track]
        aged = {
            key: sum((work * decay[age] for work, age in entries), Fraction())
            for key, entries in dated(here, "work", 4, rows).items()
        }
        parts.append((part, share(aged) or {"owner": Fraction(1)}))
    return burnt(added(*parts), {"5Treasury": "0.1"})


SN41 = """
hotkey optimum volume
5Ada 0.5 60@1,70@2,30@30
5Bob 0.2 50@28,50@29,0@30
5Cyd 0.1 400@5,2.5@6,1@7
5Dot 0.1 33.5@11,33.5@12,33@13
5Eve 0.7 99999@3,1@4
5Fay 0.6 33@14,33@15,33.999999999@16
---
5Ada 0.45 60@1,20@2,30@30,10@31
5Bob 0.21 50@28,50@29,0@30
5Cyd 0.11 400@5,2.5@6,1@7
5Dot 0.09 33.5@11,33.5@12,33@13
5Gil 0 90@28,91@29,92@31
---
5Bob 0.21 50@28,50@29,0@30
5Dot 0.04 33.5@11,33.5@12,33@13
5Hal 0.77 50@32,51@33,52@35
5Cyd 0.3 1@5,400@6,2@7
"""


def sn41(rows: Rows, _: Memory) -> Values:
    window = dated(rows, "volume", 30)
    traded = {
        key
        for key, entries in window.items()
        if sum(value for value, _ in entries) >= 100 and len({age for _, age in entries}) >= 3
    }
    parts = share({k: v for k, v in numbers(rows, "optimum").items() if k in traded})
    positive = {key for key, value in parts.items() if value}
    limit = max(Fraction("0.3"), Fraction(1, len(positive)))
    capped: set[str] = set()
    while True:
        free = {key: value for key, value in parts.items() if key not in capped}
        left = 1 - limit * len(capped)
        shared = {key: value * left for key, value in share(free).items()}
        above = {key for key, value in shared.items() if value > limit}
        if not above:
            return shared | dict.fromkeys(capped, limit)
        capped |= above


VIDAIO = """
hotkey block up down
5Ada 1 0.9 0.3
5Bob 2 0.8 0.31
5Cyd 3 0.7 0.4,0.41
5Dot 4 0.6 0.5
5Eve 5 0.5 0.3
5Fay 6 0.5 0.3
---
5Ada 1 - -
5Bob 2 0.81 0.6
5Cyd 3 0.2 0.4
5Dot 4 0.61 0.3
5Eve 5 0.51 0.5
5Fay 6 0.3 0.5
5Gil 7 0.699 0.699
---
5Bob 2 0.8 -
5Gil 7 0.99,0.91 -
"""


def vidaio(rows: Rows, memory: Memory) -> Values:
    pools = []
    for part, column in (("0.8", "up"), ("0.2", "down")):
        averages = smoothed(memory.setdefault(column, {}), means(rows, column), ("0.2", "0.2"))
        pools.append((part, ladder(ranked(averages, numbers(rows, "block"))[:5], [1] * 5)))
    return folded(*pools)


SUBNET_22 = """
hotkey score capacity
5Ada 0.6 100
5Bob 0.5 150
5Cyd 0.9 0
---
5Ada 0.8 100
5Bob 0.3 150
5Dot 0.45 20
---
5Ada - 100
5Bob 0.38 151.5
5Dot 0.55 20.5
---
5Ada 0.1 99.5
5Bob 0.379 151.5
5Dot 0.5,0.52 -
"""


def subnet_22(rows: Rows, memory: Memory) -> Values:
    averages = smoothed(memory, means(rows, "score"), ("0.3", "0.6"), begins_new=True)
    return burnt(share(times(averages, numbers(rows, "capacity"))), {"owner": "0.5"})


TARGON = """
hotkey payouts
5Ada 0.1,0.05
5Bob 0.2125
5Cyd -
---
5Ada 0.9
5Bob 0.3,0.4
5Dot 0
---
5Cyd -
5Dot 0
"""


def targon(rows: Rows, _: Memory) -> Values:
    payouts = {key: sum(values, Fraction()) for key, values in lists(rows, "payouts").items()}
    return rest(payouts, "owner")


# sums of 245, 180 and 320 of a cap of 500: (0.49, 0.36 and 0.64)^1.5
GRAIL = """
hotkey rollouts
5Ada 100@5,145@7,999@4
5Bob 180@6
5Cyd 320@7
5Dot -
---
5Ada 40@8,5@6
5Cyd 320@7
5Dot -
---
5Ada 40@10,40@8
5Eve 500@10
5Dot -
---
5Ada 7@11,77.5@10
5Bob 613.25@11
5Eve 123@10
"""


def grail(rows: Rows, _: Memory) -> Values:
    window = dated(rows, "rollouts", 3)
    filled = {
        key: min(Fraction(1), sum((value for value, _ in entries), Fraction()) / 500)
        for key, entries in window.items()
    }
    return burnt(rest(to_power(filled, "1.5"), "owner"), {"owner": "0.9"})


def forecasts(today: int, miners: range) -> str:
    """Errors of the days up to today: of every other, or of every third, or from the fifth on."""
    rows = []
    for miner in miners:
        step = {0: 3, 1: 2}.get(miner % 6, 1)
        days = range(5 if miner == 25 else 1, today + 1, step)
        errors = ",".join(f"0.{100 + (miner * 137 + day * 53) % 701}@{day}" for day in days)
        rows.append(f"5M{miner:02} {errors}")
    return "\n".join(rows)


NUMINOUS = f"""
hotkey error
{forecasts(7, range(1, 31))}
---
{forecasts(8, range(2, 35))}
---
{forecasts(9, range(23, 29))}
"""


def numinous(rows: Rows, _: Memory) -> Values:
    window = dated(rows, "error", 7)
    errors = {
        key: mean([value for value, _ in entries])
        for key, entries in window.items()
        if len({age for _, age in entries}) >= 4
    }
    bar = sorted(errors.values())[20] if len(errors) > 20 else Fraction(1)
    return share({key: max(Fraction(), bar - error) ** 2 for key, error in errors.items()})


ALLWAYS = """
hotkey time capacity
5Ada 0.5 0.8
5Bob 0.3125 0.44
5Cyd 0.1 -
---
5Ada 0.25,0.2 0.81
5Bob - 0.44
5Dot 0.55 0.333
---
5Ada 0.7,0.6 0.9
5Dot 1,0.01 0.75
---
5Bob 0 0.44
"""


def allways(rows: Rows, _: Memory) -> Values:
    time = {key: sum(values, Fraction()) for key, values in lists(rows, "time").items()}
    earned = times(time, to_power(numbers(rows, "capacity"), "2"))
    return burnt(rest(earned, "owner"), {"owner": "0.9"})


# winners who stay until they are exceeded


def near(held: Fraction, low: str, high: str = "1") -> Fraction:
    """The part of a margin that is left between a value from which it shrinks and a ceiling."""
    left = (Fraction(high) - held) / (Fraction(high) - Fraction(low))
    return min(ONE, max(Fraction(), left))


# Ada and Bob have the same median; Cyd and Dot one coldkey. Bob is king at 0.93, so that 0.7 of
# the margin is left: 0.96255, which Cyd exceeds.
DITTO = """
hotkey coldkey block runs
5Ada C1 100 0.1,0.61,0.734,0.702
5Bob C2 104 0.9,0.702,0.55
5Cyd C3 90 0.411,0.387
5Dot C3 120 0.399
5Eve C4 130 0.12,0.1,0.08
5Fay C5 131 0.3055
---
5Ada C1 100 0.213,0.202,0.734
5Bob C2 104 0.93,0.941,0.702
5Cyd C3 90 0.387,0.411,0.7301
5Dot C3 120 0.735
5Fay C5 131 0.0009
5Gil C6 200 0.7371
---
5Ada C1 100 0.213,0.202,0.734
5Bob C2 104 -
5Cyd C3 90 0.9626,0.99,0.3
5Dot C3 120 0.96255
5Fay C5 131 0
5Gil C6 200 0.213
"""


def ditto(rows: Rows, memory: Memory) -> Values:
    scores = {key: median(runs[-3:]) for key, runs in lists(rows, "runs").items()}
    block, coldkey = numbers(rows, "block"), texts(rows, "coldkey")

    def bar(held: Fraction, _: int) -> Fraction:
        return held * (1 + Fraction("0.05") * near(held, "0.9"))

    kings = crowned(memory, scores, hotkeys(rows), bar, earlier=block)
    able = {key: value for key, value in scores.items() if value > 0}
    order = [*kings, *(key for key in ranked(able, block) if key not in kings)]
    first = {coldkey[key]: key for key in reversed(order)}
    best = [key for key in order if first[coldkey[key]] == key]
    return ladder(best, [65, 14, 10, 7, 4])


SWARM = """
hotkey track block score
5Ada repositories 3 0.612
5Bob repositories 7 0.58
5Bob packages 7 0.333
5Cyd packages 5 0.333
5Dot skills 8 0
---
5Ada repositories 3 0.6
5Bob repositories 7 0.662
5Bob packages 7 0.4
5Cyd packages 5 0.41
5Eve mcp_servers 11 0.05
---
5Ada repositories 3 0.612
5Bob repositories 7 0.6571
5Bob packages 7 0.001
5Eve mcp_servers 11 -
5Fay skills 12 0.21
5Gil skills 13 0.2103
---
5Bob repositories 7 0.6
5Dot mcp_servers 8 0.095
5Eve mcp_servers 11 0.05
--- 7
5Eve mcp_servers 11 0.01
---
5Dot mcp_servers 8 0.06
5Eve mcp_servers 11 0.05
---
5Dot mcp_servers 8 0.0601
5Eve mcp_servers 11 0.05
"""
FAMILIES = {"repositories": "0.4", "packages": "0.3", "mcp_servers": "0.2", "skills": "0.1"}


def swarm(rows: Rows, memory: Memory) -> Values:
    def bar(held: Fraction, reign: int) -> Fraction:
        return held + Fraction("0.05") * max(Fraction("0.2"), 1 - Fraction("0.1") * reign)

    parts = []
    for family, part in FAMILIES.items():
        of_family = [row for row in rows if row["track"] == family]
        scores, block = numbers(of_family, "score"), numbers(rows, "block")
        own = memory.setdefault(family, {})
        kings = crowned(own, scores, hotkeys(rows), bar, earlier=block, last=5)
        parts.append((part, ladder(kings, powers("0.7")) or {"owner": ONE}))
    return added(*parts)


DISTIL = """
hotkey block score
5Ada 10 0.4
5Bob 12 0.4
5Cyd 9 0.38
---
5Ada 10 0.39
5Bob 12 0.42
5Dot 15 0.4211
---
5Ada 10 -
5Bob 12 0.47
5Dot 15 0.03
5Eve 21 0.46
---
5Ada 10 0.1
5Bob 12 0.47
5Dot 15 0.03
5Fay 22 0.4936
---
5Ada 10 0.1
5Bob 12 0.47
5Dot 15 0.03
5Fay 22 0.4936
5Gil 23 0.5183
---
5Ada 10 0.1
5Bob 12 0.47
5Dot 15 0.03
5Fay 22 0.4936
5Gil 23 0.5183
5Hal 24 0.5443
"""


def of_kings(*, last: int, margin: str = "0") -> Mechanism:
    """The last kings by score have equal parts."""

    def mechanism(rows: Rows, memory: Memory) -> Values:
        def bar(held: Fraction, _: int) -> Fraction:
            return held * (1 + Fraction(margin))

        scores, block = numbers(rows, "score"), numbers(rows, "block")
        kings = crowned(memory, scores, hotkeys(rows), bar, earlier=block, last=last)
        return ladder(kings, [1] * last)

    return mechanism


NINJA = """
hotkey duel
5Ada 3
5Bob 1
5Cyd -
---
5Ada 3
5Dot 5
5Cyd -
---
5Ada 3
5Dot 5
5Eve 9
---
5Ada 3
5Dot 5
5Eve 9
5Fay 11
---
5Ada 12
5Dot 5
5Eve 9
5Fay 11
---
5Ada 12
5Dot -
5Eve 9
5Fay 11
5Gil 14
---
5Ada 12
5Dot -
5Eve 9
5Fay 11
5Gil 14
5Hal 15
---
5Dot -
5Eve 9
5Fay 11
5Gil 14
5Hal -
"""


def of_duels(rows: Rows, memory: Memory, column: str, last: int = 1) -> list[str]:
    """The winners of the last duels against a king."""
    return crowned(memory, numbers(rows, column), hotkeys(rows), lambda held, _: held, last=last)


def ninja(rows: Rows, memory: Memory) -> Values:
    return ladder(of_duels(rows, memory, "duel", 5), [40, 15, 15, 15, 15])


# five votes: the least and the greatest count as their neighbours
TRAJECTORY = """
hotkey block votes
5Ada 4 0.71,0.74,0.69,0.99,0.1
5Bob 6 0.73,0.714,0.698
5Cyd 7 0.5,0.6
---
5Ada 4 0.3,0.31
5Bob 6 0.91,0.88,0.87,0.86,0.2
5Dot 9 0.8,0.81
---
5Ada 4 0.887,0.887,0.88697
5Bob 6 0.5
5Dot 9 0.89,0.9,0.885,0.88,0.87
"""


def trajectory(rows: Rows, memory: Memory) -> Values:
    scores = {}
    for key, votes in lists(rows, "votes").items():
        cut, order = len(votes) // 5, sorted(votes)
        inner = order[cut : len(order) - cut]
        scores[key] = mean([inner[0]] * cut + inner + [inner[-1]] * cut)

    def bar(held: Fraction, _: int) -> Fraction:
        return held * (1 + Fraction("0.03") * near(held, "0.8"))

    kings = crowned(memory, scores, hotkeys(rows), bar, earlier=numbers(rows, "block"))
    return dict.fromkeys(kings, ONE)


GEN = """
hotkey duel
5Ada 2
5Cyd -
--- 16
5Ada 2
5Bob 1
---
5Ada 2
5Bob 7
5Dot -
---
5Ada 2
5Dot 6
"""


def gen(rows: Rows, memory: Memory) -> Values:
    kings = of_duels(rows, memory, "duel")
    pay = max(Fraction("0.3"), 1 - Fraction("0.05") * memory["reign"])
    return rest(dict.fromkeys(kings, pay), "owner")


ORO = """
hotkey block score
5Ada 2 0.5
5Bob 3 0.5
5Cyd 4 0.31
5Dot 5 0
---
5Ada 2 -
5Bob 3 0.55
5Cyd 4 0.2
5Eve 8 0.549
---
5Ada 2 0.52
5Bob 3 0.5401
5Dot 5 0.1
5Eve 8 0.53
---
5Ada 2 0.52
5Bob 3 0.1
5Dot 5 0.0005
5Eve 8 0.52
---
5Ada 2 0.52
5Bob 3 0.1
5Eve 8 0.5833
--- 5
5Ada 2 0.3
5Bob 3 0.1
---
5Bob 3 0.1
5Eve 8 0.5509
---
5Bob 3 0.1
5Eve 8 0.551
"""


def oro(rows: Rows, memory: Memory) -> Values:
    def bar(held: Fraction, reign: int) -> Fraction:
        return held * (1 + Fraction("0.1") * max(Fraction("0.2"), 1 - Fraction("0.2") * reign))

    scores, block = numbers(rows, "score"), numbers(rows, "block")
    kings = crowned(memory, scores, hotkeys(rows), bar, earlier=block)
    others = {key: value for key, value in scores.items() if value > 0 and key not in kings}
    order = ranked(others, block)
    tail = ladder(order, range(len(order), 0, -1))
    return burnt(folded(("0.25", dict.fromkeys(kings, ONE)), ("0.75", tail)), {"owner": "0.75"})


MINOTAUR = """
hotkey order
5Ada -
5Bob -
5Cyd -
---
5Ada 5
5Bob 4
5Cyd -
---
5Ada 5
5Bob 8
5Dot 7
"""


def minotaur(rows: Rows, memory: Memory) -> Values:
    kings = of_duels(rows, memory, "order")
    return burnt(dict.fromkeys(kings, ONE), {"owner": "0.25"})


# the scores of each validator, with its stake
AUTOPPIA = """
hotkey task_id points stake
5Ada v1 812000 100.5
5Ada v2 790500.25 250
5Bob v1 830000 100.5
5Bob v2 779000 250
5Cyd v1 795000 100.5
---
5Ada v2 500000 251.75
5Bob v1 840000 99.25
5Bob v2 829000.5 251.75
5Cyd v1 836498.190 99.25
5Dot v2 836498.191 251.75
---
5Bob v1 910000 99
5Bob v2 840000 260
5Dot v1 880000 99
5Dot v2 872000 260
5Cyd v1 830000 99
"""


def autoppia(rows: Rows, memory: Memory) -> Values:
    tops, bottoms = Values(), Values()
    for row in rows:
        key, stake = row["hotkey"], Fraction(row["stake"])
        tops[key] = tops.get(key, Fraction()) + stake * Fraction(row["points"])
        bottoms[key] = bottoms.get(key, Fraction()) + stake
    means = {key: tops[key] / bottoms[key] for key in tops}
    kings = crowned(memory, means, hotkeys(rows), lambda held, _: held * Fraction("1.05"))
    return burnt(dict.fromkeys(kings, ONE), {"owner": "0.925"})


# places, winners and fronts


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
    for track in FAMILIES:
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


def redteam(rows: Rows, _: Memory) -> Values:
    parts = []
    for challenge, part in FAMILIES.items():
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
    "data-universe": (data_universe, DATA_UNIVERSE),
    "bitmind": (bitmind, BITMIND),
    "synth": (synth, SYNTH),
    "gittensor": (gittensor, GITTENSOR),
    "sn41": (sn41, SN41),
    "vidaio": (vidaio, VIDAIO),
    "subnet-22": (subnet_22, SUBNET_22),
    "targon": (targon, TARGON),
    "grail": (grail, GRAIL),
    "numinous": (numinous, NUMINOUS),
    "allways": (allways, ALLWAYS),
    "ditto": (ditto, DITTO),
    "swarm": (swarm, SWARM),
    "distil": (of_kings(last=5, margin="0.05"), DISTIL),
    "ninja": (ninja, NINJA),
    "trajectory": (trajectory, TRAJECTORY),
    "404-gen": (gen, GEN),
    "oro": (oro, ORO),
    "minotaur": (minotaur, MINOTAUR),
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


def result(row: Row) -> dict[str, Any]:
    """A row as a result of score has it."""
    return {
        "miner_hotkey": row["hotkey"],
        "task_id": row["task_id"],
        "measures": {"points": row["points"]},
        "stake": row["stake"],
    }


def test_validators_weighed_by_stake_choose_a_winner() -> None:
    rounds = rounds_of(AUTOPPIA)
    assert weights_of("autoppia", rounds, result) == expected(autoppia, rounds)
