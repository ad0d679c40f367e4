"""Rule sets of subnets against their words: a mechanism in fractions pays the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from random import Random
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
    made_up,
    mean,
    near,
    newest,
    numbers,
    powers,
    ranked,
    rest,
    rounded,
    share,
    smoothed,
    texts,
    weights_of,
)
from examples import examples
from hypothesis import given
from hypothesis import strategies as st

ONE = Fraction(1)

# averages, windows and payouts


def times(values: Values, factors: Values) -> Values:
    """Values times factors, of who has both."""
    return {key: value * factors[key] for key, value in values.items() if key in factors}


def means(rows: Rows, name: str) -> Values:
    return {key: mean(values) for key, values in lists(rows, name).items()}


def means_within(rows: Rows, name: str, within: int) -> Values:
    entries = dated(rows, name, within, newest(rows))
    return {key: mean([value for value, _ in of_one]) for key, of_one in entries.items()}


def to_power(values: Values, power: str) -> Values:
    """Values to a power of halves."""
    whole, half = divmod(Fraction(power), 1)
    return {
        key: value**whole * (irrational(value, lambda v: v.sqrt()) if half else 1)
        for key, value in values.items()
    }


def data_universe(rows: Rows, memory: Memory) -> Values:
    data = {key: sum(values, Fraction()) for key, values in lists(rows, "data").items()}
    credibility = smoothed(memory, means(rows, "valid"), ("0.15", "0.15"), here=hotkeys(rows))
    return burnt(share(times(data, to_power(credibility, "2.5"))), {"owner": "0.7"})


ESCROWS = {"uid:6@4100000": "0.4", "uid:7@4100001": "0.3", "uid:8@4100002": "0.14"}


def bitmind(rows: Rows, memory: Memory) -> Values:
    return burnt(share(smoothed(memory, means(rows, "score"), ("0.1", "0.1"))), ESCROWS)


def synth(rows: Rows, _: Memory) -> Values:
    pools = []
    for part, column in (("0.6", "coin"), ("0.4", "gold")):
        rolling = means_within(rows, column, 4)
        soft = {key: exp(value / Fraction("0.05")) for key, value in rolling.items()}
        pools.append((part, share(soft)))
    return burnt(folded(*pools), {"uid:248@4200000": "0.5"})


REPOSITORIES = {"repositories": "0.4", "packages": "0.3", "mcp_servers": "0.2", "skills": "0.1"}


def gittensor(rows: Rows, _: Memory) -> Values:
    decay = [rounded(1 / (1 + exp(Fraction(age - 2)))) for age in range(4)]
    parts = []
    for track, part in REPOSITORIES.items():
        here = [row for row in rows if row["track"] == track]
        aged = {
            key: sum((work * decay[age] for work, age in entries), Fraction())
            for key, entries in dated(here, "work", 4, newest(rows)).items()
        }
        parts.append((part, share(aged) or {"owner": Fraction(1)}))
    return burnt(added(*parts), {"5Treasury": "0.1"})


def sn41(rows: Rows, _: Memory) -> Values:
    window = dated(rows, "volume", 30, newest(rows))
    traded = {
        key
        for key, entries in window.items()
        if sum(value for value, _ in entries) >= 100 and len({age for _, age in entries}) >= 3
    }
    parts = share({k: v for k, v in numbers(rows, "optimum").items() if k in traded})
    positive = {key for key, value in parts.items() if value}
    if not positive:
        return {}
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


def vidaio(rows: Rows, memory: Memory) -> Values:
    pools = []
    for part, column in (("0.8", "up"), ("0.2", "down")):
        averages = smoothed(memory.setdefault(column, {}), means(rows, column), ("0.2", "0.2"))
        pools.append((part, ladder(ranked(averages, numbers(rows, "block"))[:5], [1] * 5)))
    return folded(*pools)


def subnet_22(rows: Rows, memory: Memory) -> Values:
    averages = smoothed(memory, means(rows, "score"), ("0.3", "0.6"), begins_new=True)
    return burnt(share(times(averages, numbers(rows, "capacity"))), {"owner": "0.5"})


def targon(rows: Rows, _: Memory) -> Values:
    payouts = {key: sum(values, Fraction()) for key, values in lists(rows, "payouts").items()}
    return rest(payouts, "owner")


def grail(rows: Rows, _: Memory) -> Values:
    window = dated(rows, "rollouts", 3, newest(rows))
    filled = {
        key: min(Fraction(1), sum((value for value, _ in entries), Fraction()) / 500)
        for key, entries in window.items()
    }
    return burnt(rest(to_power(filled, "1.5"), "owner"), {"owner": "0.9"})


def numinous(rows: Rows, _: Memory) -> Values:
    window = dated(rows, "error", 7, newest(rows))
    errors = {
        key: mean([value for value, _ in entries])
        for key, entries in window.items()
        if len({age for _, age in entries}) >= 4
    }
    bar = sorted(errors.values())[20] if len(errors) > 20 else Fraction(1)
    return share({key: max(Fraction(), bar - error) ** 2 for key, error in errors.items()})


def allways(rows: Rows, _: Memory) -> Values:
    time = {key: sum(values, Fraction()) for key, values in lists(rows, "time").items()}
    earned = times(time, to_power(numbers(rows, "capacity"), "2"))
    return burnt(rest(earned, "owner"), {"owner": "0.9"})


# winners who stay until they are exceeded


def left_of(held: Fraction, low: str, high: str = "1") -> Fraction:
    """The part of a margin that is left between a value from which it shrinks and a ceiling."""
    left = (Fraction(high) - held) / (Fraction(high) - Fraction(low))
    return min(ONE, max(Fraction(), left))


def ditto(rows: Rows, memory: Memory) -> Values:
    scores = {key: median(runs[-3:]) for key, runs in lists(rows, "runs").items()}
    block, coldkey = numbers(rows, "block"), texts(rows, "coldkey")

    def bar(held: Fraction, _: int) -> Fraction:
        return held * (1 + Fraction("0.05") * left_of(held, "0.9"))

    able = {key: value for key, value in scores.items() if value > 0}
    kings = crowned(memory, able, hotkeys(rows), bar, earlier=block)
    order = [*kings, *(key for key in ranked(able, block) if key not in kings)]
    first = {coldkey[key]: key for key in reversed(order)}
    best = [key for key in order if first[coldkey[key]] == key]
    return ladder(best, [65, 14, 10, 7, 4])


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


def of_kings(*, last: int, margin: str = "0") -> Mechanism:
    """The last kings by score have equal parts."""

    def mechanism(rows: Rows, memory: Memory) -> Values:
        def bar(held: Fraction, _: int) -> Fraction:
            return held * (1 + Fraction(margin))

        scores, block = means(rows, "score"), numbers(rows, "block")
        kings = crowned(memory, scores, hotkeys(rows), bar, earlier=block, last=last)
        return ladder(kings, [1] * last)

    return mechanism


def of_duels(rows: Rows, memory: Memory, column: str, last: int = 1) -> list[str]:
    """The winners of the last duels against a king."""
    return crowned(memory, numbers(rows, column), hotkeys(rows), lambda held, _: held, last=last)


def ninja(rows: Rows, memory: Memory) -> Values:
    return ladder(of_duels(rows, memory, "duel", 5), [40, 15, 15, 15, 15])


def trajectory(rows: Rows, memory: Memory) -> Values:
    scores = {}
    for key, votes in lists(rows, "votes").items():
        cut, order = len(votes) // 5, sorted(votes)
        inner = order[cut : len(order) - cut]
        scores[key] = mean([inner[0]] * cut + inner + [inner[-1]] * cut)

    def bar(held: Fraction, _: int) -> Fraction:
        return held * (1 + Fraction("0.03") * left_of(held, "0.8"))

    kings = crowned(memory, scores, hotkeys(rows), bar, earlier=numbers(rows, "block"))
    return dict.fromkeys(kings, ONE)


def gen(rows: Rows, memory: Memory) -> Values:
    kings = of_duels(rows, memory, "duel")
    pay = max(Fraction("0.3"), 1 - Fraction("0.05") * memory["reign"])
    return rest(dict.fromkeys(kings, pay), "owner")


def oro(rows: Rows, memory: Memory) -> Values:
    def bar(held: Fraction, reign: int) -> Fraction:
        return held * (1 + Fraction("0.1") * max(Fraction("0.2"), 1 - Fraction("0.2") * reign))

    able = {key: value for key, value in means(rows, "score").items() if value > 0}
    block = numbers(rows, "block")
    kings = crowned(memory, able, hotkeys(rows), bar, earlier=block)
    others = {key: value for key, value in able.items() if key not in kings}
    order = ranked(others, block)
    tail = ladder(order, range(len(order), 0, -1))
    return burnt(folded(("0.25", dict.fromkeys(kings, ONE)), ("0.75", tail)), {"owner": "0.75"})


def minotaur(rows: Rows, memory: Memory) -> Values:
    kings = of_duels(rows, memory, "order")
    return burnt(dict.fromkeys(kings, ONE), {"owner": "0.25"})


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


def affine(rows: Rows, _: Memory) -> Values:
    a, b, commit = (numbers(rows, name) for name in ("a", "b", "commit"))
    on_front = front({key: (a[key], b[key]) for key in a if key in b}, commit)
    order = ranked({key: (a[key] + b[key]) / 2 for key in on_front}, commit)
    parts = ladder(order, powers("0.5"))
    kept = {key: part for key, part in parts.items() if part >= Fraction("0.01")}
    return rest(kept, "uid:0@4200000")


def kinitro(rows: Rows, _: Memory) -> Values:
    columns, commit = {name: means(rows, name) for name in "abc"}, numbers(rows, "commit")
    won = Values()
    for size, part in ((1, "0.1"), (2, "0.15"), (3, "0.25")):
        for names in combinations("abc", size):
            there = [key for key in commit if all(key in columns[name] for name in names)]
            points = {key: [columns[name][key] for name in names] for key in there}
            won = added(("1", won), (part, dict.fromkeys(front(points, commit), ONE)))
    return share({key: exp(value / Fraction("0.2")) for key, value in won.items()})


def apex(rows: Rows, _: Memory) -> Values:
    paid = Values()
    for track in FAMILIES:
        here = [row for row in rows if row["track"] == track]
        scores = {key: score for key, score in numbers(here, "score").items() if score > 0}
        for winner in ranked(scores, numbers(here, "block"))[:1]:
            paid = added(("1", paid), ("1", {winner: numbers(here, "pay").get(winner, Fraction())}))
    return share(paid)


def nova(rows: Rows, _: Memory) -> Values:
    parts, block = [], numbers(rows, "block")
    for part, column in (("0.4", "small"), ("0.6", "large")):
        able = {key: value for key, value in numbers(rows, column).items() if value > 0}
        winner = next(iter(ranked(able, block)), "uid:0@4200000")
        parts.append((part, {winner: ONE}))
    return added(*parts)


def resi(rows: Rows, _: Memory) -> Values:
    scores, block = numbers(rows, "score"), numbers(rows, "block")
    if not any(scores.values()):
        return {}
    best = [key for key in scores if scores[key] >= max(scores.values()) * Fraction("0.997")]
    winner = min(best, key=lambda key: (block[key], key))
    others = {key: value for key, value in scores.items() if key != winner}
    return folded(("0.99", {winner: ONE}), ("0.01", share(others)))


def miid(rows: Rows, _: Memory) -> Values:
    reputation = numbers(rows, "reputation")
    scores = {key: mean(values) for key, values in lists(rows, "score").items()}
    trusted = {k: v for k, v in scores.items() if reputation.get(k, 0) >= Fraction("0.4")}
    best = ranked(trusted, numbers(rows, "block"))[:50]
    parts = share({key: trusted[key] for key in best})
    mixed = folded(("0.5", ladder(best, powers("0.367879441"))), ("0.5", parts))
    return burnt(mixed, {"owner": "0.3", "5Partner": "0.35"})


def templar(rows: Rows, _: Memory) -> Values:
    order = ranked(numbers(rows, "rating"), numbers(rows, "block"))
    best, reserve = order[:3], order[3:6]
    first = ladder(best, range(len(best), 0, -1))
    part = folded(("0.75", first), ("0.25", ladder(reserve, powers("0.75"))))
    return burnt(part, {"owner": "0.5"})


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
    best = dict.fromkeys(order[:1], ONE)
    part = folded(("0.95", best), ("0.05", ladder(others, steps)))
    return burnt(part, {"owner": "0.2"})


def minos(rows: Rows, _: Memory) -> Values:
    recent = dated(rows, "score", 20, newest(rows))
    steady = {
        key: mean([value for value, _ in entries])
        for key, entries in recent.items()
        if len({age for _, age in entries}) >= 10
    }
    order = ranked(steady, numbers(rows, "block"))
    best = dict.fromkeys(order[:1], ONE)
    paid = added(("0.1", best), ("0.03", ladder(order[1:], powers("0.8"))))
    return rest(paid, "owner")


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


MECHANISMS: dict[str, Mechanism] = {
    "data-universe": data_universe,
    "bitmind": bitmind,
    "synth": synth,
    "gittensor": gittensor,
    "sn41": sn41,
    "vidaio": vidaio,
    "subnet-22": subnet_22,
    "targon": targon,
    "grail": grail,
    "numinous": numinous,
    "allways": allways,
    "ditto": ditto,
    "swarm": swarm,
    "distil": of_kings(last=5, margin="0.05"),
    "ninja": ninja,
    "trajectory": trajectory,
    "404-gen": gen,
    "oro": oro,
    "minotaur": minotaur,
    "affine": affine,
    "kinitro": kinitro,
    "apex": apex,
    "nova": nova,
    "resi": resi,
    "miid": miid,
    "templar": templar,
    "zeus": zeus,
    "minos": minos,
    "redteam": redteam,
}


@examples(9)
@given(seed=st.integers(0, 10**9))
@pytest.mark.parametrize("name", MECHANISMS)
def test_a_subnet_pays_as_its_words_say(name: str, seed: int) -> None:
    rounds = made_up(name, Random(seed))
    assert weights_of(name, rounds) == expected(MECHANISMS[name], rounds)


def result(row: Row) -> dict[str, Any]:
    """A row as a result of score has it."""
    return {
        "miner_hotkey": row["hotkey"],
        "task_id": row["task_id"],
        "measures": {"points": row["points"]},
        "stake": row["stake"],
    }


@examples(9)
@given(seed=st.integers(0, 10**9))
def test_validators_weighed_by_stake_choose_a_winner(seed: int) -> None:
    random = Random(seed)
    rounds = [
        [
            {
                "hotkey": f"5M{miner}",
                "task_id": f"v{validator}",
                "points": near(0, 1_000_000, random),
                "stake": str(1 + number * validator),
            }
            for miner in random.sample(range(5), 3)
            for validator in random.sample(range(3), 2)
        ]
        for number in range(9)
    ]
    assert weights_of("autoppia", rounds, result) == expected(autoppia, rounds)
