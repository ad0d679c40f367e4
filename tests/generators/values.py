"""Single values at and around the edges that the description of a record allows."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from random import Random

MOST_ITEMS = 1000
LONGEST_TEXT = 4096

#: Numbers in [0, 1]: bounds, thresholds, halves of a nano, and neighbours of them in doubles.
_UNIT_EDGES = (
    *(0, 1, 0.0, 1.0, -0.0, 0.5, 0.25, 0.75, 0.1, 0.2, 0.4, 0.6, 0.7, 0.8, 0.98),
    *(0.1 + 0.2, 0.7 - 1e-16, 0.7 + 2e-16, 0.9999999999999999, 1 / 3),
    *(1e-10, 5e-10, 1.5e-9, 2.5e-9, 0.0000000005000001, 0.4999999995, 0.7000000005, 5e-324),
)
_ODD_TEXTS = (
    *(" ", "null", "*", "a|b", "a,b", "a:b", "a/b", "../../etc/passwd", "\t", "\n", "\\", '"'),
    *("é", "e\u0301", "ß", "SS", "\u212a", "K", "k", "ı", "☃", "\U0001f600", "a\u0000b", "\u2028"),
)


def rarely(random: Random, times: float = 0.03) -> bool:
    """True in the given share of calls."""
    return random.random() < times


def unit(random: Random) -> float:
    """A number in [0, 1], one in three at an edge."""
    kind = random.random()
    if kind < 0.34:
        return random.choice(_UNIT_EDGES)
    if kind < 0.67:
        return round(random.random(), random.choice((1, 2, 2, 2, 9)))
    if kind < 0.75:
        return (2 * random.randrange(10**9) + 1) / 2e9
    return random.random()


def near(random: Random, other: float) -> float:
    """A number in [0, 1] that often equals the other one or lies beside it."""
    kind = random.random()
    if kind < 0.2:
        return other
    if kind < 0.6:
        return min(1.0, max(0.0, other + random.choice((-1, 1)) * random.random() / 10))
    return unit(random)


def amount(random: Random, typical: float, most: float) -> float:
    """A number from 0 to the most, mostly about the typical one."""
    kind = random.random()
    if kind < 0.6:
        return round(random.uniform(0.1, 2) * typical, random.choice((2, 3, 6)))
    if kind < 0.9:
        return random.uniform(0, 2 * typical)
    return random.choice((0, 0.0, 1, 1e-10, 4e-10, 5e-10, 1e-9, 0.1, typical, most, most / 3))


def small_count(random: Random) -> int:
    """A count, mostly zero or small, at times at its bound."""
    if rarely(random, 0.01):
        return random.choice((10**6, 10**6 - 1, 1000))
    return random.choice((0, 0, 0, 0, 0, 1, 1, 2, 3, 5, 9, 10, 11))


def size(random: Random, usual: int = 4) -> int:
    """A number of items, mostly up to the usual one, very rarely at the bound."""
    if rarely(random, 0.001):
        return random.choice((MOST_ITEMS, MOST_ITEMS - 1))
    return random.randint(0, usual)


def odd_text(random: Random) -> str:
    """A short text that trips careless splitting, folding or escaping."""
    return random.choice(_ODD_TEXTS)


def prose(random: Random, plain: str) -> str:
    """The plain text, or rarely an odd, an empty or the longest one."""
    if not rarely(random, 0.02):
        return plain
    return random.choice(("", odd_text(random), odd_text(random) * 40, "x" * LONGEST_TEXT))


def hotkey(random: Random) -> str:
    """An opaque name of 1 to 64 characters, mostly of 48."""
    if rarely(random, 0.01):
        return random.choice(("a", "5" * 64, "\U0001f600" * 64, "ключ", " "))
    return f"5{random.getrandbits(188):047x}"


def mixed(random: Random, wanted: list[str], strange: list[str]) -> list[str]:
    """An answer to a wanted list: some of it, at times strangers, at times twice."""
    share = random.choice((0, 0.5, 0.8, 1, 1))
    answer = [item for item in wanted if random.random() < share]
    if rarely(random, 0.3):
        answer += random.sample(strange, k=random.randint(0, min(3, len(strange))))
    if answer and rarely(random, 0.2):
        answer += random.choices(answer, k=random.randint(1, 3))
    random.shuffle(answer)
    return answer[:MOST_ITEMS]
