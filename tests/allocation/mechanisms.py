"""An oracle of allocations: rounds as texts, and mechanisms computed from their words in fractions.

It shares no code with the steps: a test states here what a subnet does, in plain Python, and the
weights of its rule set have to be the same to the nano in each round.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from random import Random
from typing import Any

from allocation.subnets import rules_of

import tallystick
from tallystick.numbers.nano import NANO, to_text
from tallystick.scoring.scorer import Scorer
from tallystick_allocation.allocation import bound_allocation
from tallystick_allocation.binding import BoundAllocation
from tallystick_allocation.steps.collect import Collect

SHAPES = ((1, 3), (3, 24), (6, 3), (30, 3), (70, 1))
"""Numbers of miners and of rounds."""
MARGINS = [Fraction(n, 1000) for n in (0, 0, 0, -60, -3, 3, 20, 30, 50, 51)]
_DIGITS = 60
_TEXTS = frozenset({"hotkey", "coldkey", "address", "track", "task_id"})
"""Columns that are no numbers."""
Row = Mapping[str, str]
Rows = Sequence[Row]
Values = dict[str, Fraction]
Memory = dict[str, Any]
"""The values that a mechanism keeps from round to round."""
Mechanism = Callable[[Rows, Memory], Values]
"""The weights of a round, of whoever has more than 0."""


def made_up(name: str, random: Random) -> list[Rows]:
    """Return rounds of a subnet, in which miners come and leave; many values are equal or near.

    A cell is a value, several by commas, or ``VALUE@ROUND`` where a window in time is collected.
    """
    bound = bound_allocation(rules_of(name))
    miners, rounds = random.choice(SHAPES)
    everybody = [f"{'5é🙂'[n % 3]}M{n}" for n in range(miners)]
    presence = random.choice((0.8, 1))
    return [
        [
            row
            for hotkey in everybody
            if random.random() < presence
            for row in _rows_of(bound, hotkey, now, random)
        ]
        for now in range(40, 40 + rounds)
    ]


def _rows_of(bound: BoundAllocation, hotkey: str, now: int, random: Random) -> Iterator[Row]:
    """Yield the rows of a miner, in some of the groups, with some of the values."""
    miner = {"hotkey": hotkey}
    for key, kind in bound.miner_attributes.items():
        own = random.randrange(1, 9)
        miner[key] = {"a text": f"C{own}", "a flag": "true"}.get(kind, str(own))
    columns = [step.rules for step in bound.steps if isinstance(step.rules, Collect)]
    groups = [*bound.groups] or [""]
    for group in random.sample(groups, random.randint(1, len(groups))):
        row = miner | ({bound.group: group} if group else {})
        for column in columns:
            assert column.within is not None
            if random.random() < 0.85:
                row[column.value] = _cell_of(column, now, random)
        yield row


def _cell_of(column: Collect, now: int, random: Random) -> str:
    low, high = column.within or ()
    if column.statistic == "last":
        return near(low, high, random)
    many = random.randint(1, 12)
    values = [near(low, high, random) for _ in range(many)]
    if column.within_rounds is None:
        return ",".join(values[:6])
    dates = random.sample(range(now - random.choice((12, 39)), now + 1), many)
    return ",".join(f"{value}@{date}" for value, date in zip(values, dates, strict=True))


def near(low: Decimal | int, high: Decimal | int, random: Random) -> str:
    """Return a value of a range: many are equal, and many a margin of a subnet apart."""
    eighths = Fraction(random.choice((low, high, high, high))) * random.randint(1, 8) / 8
    value = eighths / random.choice((1, 1, 1, 10, 1000)) * (1 + random.choice(MARGINS))
    return to_text(nano(max(Fraction(low), min(Fraction(high), value))))


def engine_row(row: Row) -> dict[str, Any]:
    """Return a row as tables have it."""
    return {name: cell if name in _TEXTS else _cell(cell) for name, cell in row.items()}


def _cell(cell: str) -> Any:  # noqa: ANN401  # a number, or a list
    if cell == "true":
        return True
    if "@" not in cell:
        return cell.split(",") if "," in cell else cell
    dated = (entry.split("@") for entry in cell.split(","))
    return [{"value": value, "round": int(number)} for value, number in dated]


def weights_of(
    rules: Scorer | str,
    rounds: Iterable[Rows],
    as_row: Callable[[Row], Mapping[str, Any]] = engine_row,
) -> list[dict[str, int]]:
    """Return the weights above 0 that a rule set gives in each round, in nano, carrying on."""
    scorer = rules_of(rules) if isinstance(rules, str) else rules
    found, carry = [], None
    for rows in rounds:
        carry = tallystick.allocate(scorer, [as_row(row) for row in rows], carry=carry)
        found.append({key: nano for key, nano in carry.weights.items() if nano})
    return found


def expected(mechanism: Mechanism, rounds: Iterable[Rows]) -> list[dict[str, int]]:
    """Return the weights above 0 that a mechanism gives in each round, in nano."""
    memory: Memory = {}
    found = []
    for rows in rounds:
        weights = {key: nano(value) for key, value in mechanism(rows, memory).items()}
        found.append({key: value for key, value in weights.items() if value})
    return found


def nano(value: Fraction) -> int:
    """Return a value in nano, rounded half to even."""
    return round(value * NANO)


def rounded(value: Fraction) -> Fraction:
    """Return a value as it is carried, in nine places."""
    return Fraction(nano(value), NANO)


def hotkeys(rows: Rows) -> set[str]:
    """Return who is there."""
    return {row["hotkey"] for row in rows}


def texts(rows: Rows, name: str) -> dict[str, str]:
    """Return a column of texts."""
    return {row["hotkey"]: row[name] for row in rows if name in row}


def numbers(rows: Rows, name: str) -> Values:
    """Return a column of one number each."""
    return {hotkey: Fraction(text) for hotkey, text in texts(rows, name).items()}


def lists(rows: Rows, name: str) -> dict[str, list[Fraction]]:
    """Return a column of several numbers each."""
    return {
        hotkey: [Fraction(value) for value in text.split(",")]
        for hotkey, text in texts(rows, name).items()
    }


def dated(rows: Rows, name: str, within: int, now: int) -> dict[str, list[tuple[Fraction, int]]]:
    """Return the numbers of a column of so many of the newest rounds, each with its age."""
    found: dict[str, list[tuple[Fraction, int]]] = {}
    for row in rows:
        for entry in row.get(name, "").split(","):
            value, _, number = entry.partition("@")
            if entry and now - int(number) < within:
                found.setdefault(row["hotkey"], []).append((Fraction(value), now - int(number)))
    return found


def newest(rows: Rows) -> int:
    """Return the newest round of any column, which is now."""
    entries = (cell.split(",") for row in rows for cell in row.values() if "@" in cell)
    return max((int(entry.partition("@")[2]) for cell in entries for entry in cell), default=0)


def mean(values: Sequence[Fraction]) -> Fraction:
    """Return the mean."""
    return sum(values, Fraction()) / len(values)


def share(values: Values) -> Values:
    """Return the part of each in the sum; of no sum nothing."""
    whole = sum(values.values(), Fraction())
    return {key: value / whole for key, value in values.items()} if whole else {}


def ranked(values: Values, earlier: Values | None = None) -> list[str]:
    """Return who has values from the greatest on; of equals the earlier first, then by hotkey."""
    earlier = earlier or {}
    return sorted(values, key=lambda key: (-values[key], earlier.get(key, Fraction()), key))


def ladder(order: Iterable[str], parts: Iterable[Fraction | int]) -> Values:
    """Return the parts of places, scaled to 1."""
    return share({key: Fraction(part) for key, part in zip(order, parts, strict=False)})


def powers(ratio: str) -> list[Fraction]:
    """Return the powers of a ratio, from 1 on."""
    return [Fraction(ratio) ** place for place in range(64)]


def added(*parts: tuple[str | Fraction, Values]) -> Values:
    """Return a weighted sum."""
    whole: Values = {}
    for part, values in parts:
        for key, value in values.items():
            whole[key] = whole.get(key, Fraction()) + Fraction(part) * value
    return whole


def folded(*parts: tuple[str | Fraction, Values]) -> Values:
    """Return a weighted sum of whoever is there, as one whole."""
    there = [(Fraction(part), values) for part, values in parts if values]
    whole = sum((part for part, _ in there), Fraction())
    return added(*((part / whole, values) for part, values in there))


def burnt(values: Values, parts: Mapping[str, str]) -> Values:
    """Return fixed parts of recipients, with the rest by values; all of nobody is theirs."""
    fixed = {key: Fraction(part) for key, part in parts.items()}
    if not any(values.values()):
        return share(fixed)
    return added((1 - sum(fixed.values(), Fraction()), values), ("1", fixed))


def rest(values: Values, key: str) -> Values:
    """Return the values with what they leave of one whole; more than one whole is scaled."""
    whole = sum(values.values(), Fraction())
    return share(values) if whole > 1 else added(("1", values), (1 - whole, {key: Fraction(1)}))


def smoothed(
    memory: Memory,
    values: Values,
    rates: tuple[str, str],
    *,
    begins_new: bool = False,
    here: Iterable[str] = (),
) -> Values:
    """Return moving averages, which are kept in nine places; of 0 and below nobody has one.

    Args:
        memory: where they are kept, by itself.
        values: the new ones.
        rates: their share, and their share where they are lower.
        begins_new: whether a newcomer begins with its value rather than with 0.
        here: who keeps its average without a new value.
    """
    averages = {key: value for key, value in memory.items() if key in here}
    for key, value in values.items():
        before = memory.get(key, value if begins_new else Fraction())
        part = Fraction(rates[value < before])
        averages[key] = part * value + (1 - part) * before
    memory.clear()
    memory.update({key: rounded(value) for key, value in averages.items() if value > 0})
    return dict(memory)


def crowned(  # noqa: PLR0913  # who, and by what rule
    memory: Memory,
    values: Values,
    here: set[str],
    bar: Callable[[Fraction, int], Fraction],
    *,
    earlier: Values | None = None,
    last: int = 1,
) -> list[str]:
    """Return the kings, the present one first: it stays until another is above a bar.

    Args:
        memory: where kings, the held value and the length of the reign are kept.
        values: of the round; who has none stays king, who has 0 does not.
        here: who still has a slot.
        bar: of the held value, and the rounds since the coronation.
        earlier: who is taken of equals.
        last: how many kings are kept.
    """
    kings = [key for key in memory.get("kings", []) if key in here]
    king = memory.get("king")
    if king in values and values[king] <= 0:
        kings.remove(king)
    king = king if king in kings else None
    order = ranked({key: v for key, v in values.items() if v > 0 and key != king}, earlier)
    if order and (king is None or values[order[0]] > bar(memory["held"], memory["reign"])):
        king, *_ = order
        kings = [king, *(key for key in kings if key != king)][:last]
        memory.update(held=rounded(values[king]), reign=-1)
    memory.update(kings=kings, king=king, reign=memory.get("reign", 0) + 1)
    return kings


def irrational(value: Fraction, function: Callable[[Decimal], Decimal]) -> Fraction:
    """Return a function of a value to 60 digits."""
    with localcontext(prec=_DIGITS):
        return Fraction(function(Decimal(value.numerator) / Decimal(value.denominator)))


def exp(value: Fraction) -> Fraction:
    """Return e to a power."""
    return irrational(value, Decimal.exp)
