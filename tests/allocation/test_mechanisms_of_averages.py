"""Subnets that pay by averages, windows and payouts: their rule sets against their words."""

from __future__ import annotations

from fractions import Fraction

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
    ranked,
    rest,
    rounded,
    rounds_of,
    share,
    smoothed,
    weights_of,
)


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
}


@pytest.mark.parametrize("name", CASES)
def test_a_subnet_pays_as_its_words_say(name: str) -> None:
    mechanism, text = CASES[name]
    rounds = rounds_of(text)
    assert weights_of(name, rounds) == expected(mechanism, rounds)
