"""How fast the columnar geometric mean is, beside two ways that are not exact.

Run it as ``python tests/benchmarks/geometric_mean.py [--tiny]``. It prints, for each set of
weights, the median time of a row in nanoseconds over several repeats, taken in turn in one process
on one core:

* *kernel*: `geometric_means` of columns with their logarithms, and where these are there already;
* *loop*: a Python loop of floats over tuples;
* *numpy*: ``np.prod(X**w, axis=1)`` on a matrix of doubles.
"""

import statistics
import sys
import time
from collections.abc import Callable
from decimal import Decimal

import click
import numpy as np

from tallystick.numbers.geometric_mean_columns import geometric_means, logarithms
from tallystick.numbers.nano import NANO
from tallystick.numbers.weights import Weights

TINY = "--tiny" in sys.argv
"""Whether the sizes only show that it works."""
ROWS, REPEATS = (1000, 1) if TINY else (10**6, 9)
WEIGHTS = (
    "0.35 0.30 0.20 0.15",
    "0.30 0.25 0.25 0.20",
    "0.40 0.30 0.20 0.10",
    "0.25 0.25 0.25 0.25",
    "0.33 0.27 0.25 0.15",
)
LOOP_TARGET = 40
NUMPY_TARGET = 2


def loop(rows: list[tuple[float, ...]], weights: list[float]) -> list[float]:
    """The mean of each row, as a program that knows nothing of NumPy computes it."""
    means = []
    for row in rows:
        p = 1.0
        for x, w in zip(row, weights):  # noqa: B905  # the loop as it is usually written
            p *= x**w
        means.append(p)
    return means


def seconds(work: Callable[[], object]) -> float:
    """How long one call takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def measure(text: str, columns: list[np.ndarray]) -> dict[str, float]:
    """Nanoseconds a row of each way, the median of the repeats."""
    weights = Weights.of([Decimal(weight) for weight in text.split()])
    logs = logarithms(columns)
    matrix, shares = np.column_stack(columns) / NANO, np.array(text.split(), float)
    rows, floats = list(map(tuple, matrix.tolist())), shares.tolist()
    ways: dict[str, Callable[[], object]] = {
        "whole": lambda: geometric_means(columns, logarithms(columns), weights),
        "shared": lambda: geometric_means(columns, logs, weights),
        "loop": lambda: loop(rows, floats),
        "numpy": lambda: np.prod(matrix**shares, axis=1),
    }
    times = [{name: seconds(work) for name, work in ways.items()} for _ in range(REPEATS)]
    return {name: 1e9 * statistics.median(t[name] for t in times) / ROWS for name in ways}


def main() -> None:
    """Measure every set of weights and print one line for each."""
    generator = np.random.default_rng(1)
    columns = [generator.integers(NANO // 20, NANO, ROWS, endpoint=True) for _ in range(4)]
    click.echo(f"{ROWS} rows, 4 axes, numpy {np.__version__}; ns a row, median of {REPEATS}")
    click.echo(f"targets: {LOOP_TARGET} times the loop, {NUMPY_TARGET} times numpy")
    click.echo("weights                whole shared   loop  numpy  loop/whole  numpy/whole")
    for text in WEIGHTS:
        ns = measure(text, columns)
        ratios = [ns["loop"] / ns["whole"], ns["numpy"] / ns["whole"]]
        times = "".join(f"{ns[name]:7.1f}" for name in ("whole", "shared", "loop", "numpy"))
        click.echo(f"{text:21}{times}{ratios[0]:12.1f}{ratios[1]:13.2f}")


if __name__ == "__main__":
    main()
