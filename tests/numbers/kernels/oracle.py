"""An oracle that shares no code with the engine: it judges answers and never computes them.

Each function takes the answers of a kernel and its inputs, and returns the rows that are wrong.
A geometric mean is judged by the powers of its two neighbours in the integers of FLINT, everything
else by cross-multiplied Python integers.
"""

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction

from flint import fmpz
from numpy.typing import NDArray

NANO = 10**9
Answers = NDArray | list[int]
Columns = Sequence[NDArray]


def is_nearest(answer: int, numerator: int, denominator: int) -> bool:
    """Whether the answer is the nearest integer to a quotient, the even one of two."""
    distance = abs(2 * (answer * denominator - numerator))
    return distance < denominator or (distance == denominator and answer % 2 == 0)


def wrong_geometric(answers: Answers, columns: Columns, weights: Sequence[Fraction]) -> list[int]:
    degree = math.lcm(*(weight.denominator for weight in weights))
    exponents = [int(weight * degree) for weight in weights]
    rows = zip(_integers(answers), _rows(columns), strict=True)
    return [
        index
        for index, (answer, row) in enumerate(rows)
        if not _is_geometric(answer, row, exponents, degree)
    ]


def _is_geometric(answer: int, row: Sequence[int], exponents: list[int], degree: int) -> bool:
    weighed = [(n, a) for n, a in zip(row, exponents, strict=True) if a]
    if any(n == 0 for n, _ in weighed):
        return answer == 0
    power = fmpz(2) ** degree
    for n, a in weighed:
        power *= fmpz(n) ** a
    return answer > 0 and fmpz(2 * answer - 1) ** degree < power < fmpz(2 * answer + 1) ** degree


def wrong_arithmetic(answers: Answers, columns: Columns, weights: Sequence[Fraction]) -> list[int]:
    degree = math.lcm(*(weight.denominator for weight in weights))
    numerators = [int(weight * degree) for weight in weights]
    sums = [sum(a * n for a, n in zip(numerators, row, strict=True)) for row in _rows(columns)]
    return _wrong(answers, ((total, degree) for total in sums))


def _wrong(answers: Answers, quotients: Iterable[tuple[int, int]]) -> list[int]:
    pairs = zip(_integers(answers), quotients, strict=True)
    return [row for row, (answer, q) in enumerate(pairs) if not is_nearest(answer, *q)]


def _integers(answers: Answers) -> list[int]:
    return answers if isinstance(answers, list) else answers.tolist()


def _rows(columns: Columns) -> list[tuple[int, ...]]:
    return list(zip(*(column.tolist() for column in columns), strict=True))
