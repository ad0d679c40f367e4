"""Subnets in which a winner stays until it is exceeded: their rule sets against their words."""

from __future__ import annotations

from fractions import Fraction
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
    expected,
    folded,
    hotkeys,
    ladder,
    lists,
    mean,
    numbers,
    powers,
    ranked,
    rest,
    rounds_of,
    texts,
    weights_of,
)

ONE = Fraction(1)


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


CASES: dict[str, tuple[Mechanism, str]] = {
    "ditto": (ditto, DITTO),
    "swarm": (swarm, SWARM),
    "distil": (of_kings(last=5, margin="0.05"), DISTIL),
    "ninja": (ninja, NINJA),
    "trajectory": (trajectory, TRAJECTORY),
    "404-gen": (gen, GEN),
    "oro": (oro, ORO),
    "minotaur": (minotaur, MINOTAUR),
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
