"""How fast an allocation is, and how it grows with the miners.

Run it as ``python tests/benchmarks/population.py [--tiny]``. Miners of Phylax's four tracks, each
with the counts of its verdicts in each track, get their weights by Phylax's list of steps: 256
miners and 10 000. It prints the least processor time of several repeats of `allocate` over a
population that is read already.
"""

import sys
import time
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from random import Random

import click

# in the place of this folder, where a module has the name of that of the tests
sys.path.pop(0)
sys.path.append(str(Path(__file__).resolve().parents[1]))

from allocation.subnets import rules_of

from tallystick.numbers.nano import NANO
from tallystick_allocation.allocate import allocate
from tallystick_allocation.allocation import bound_allocation
from tallystick_allocation.population import Miner, Population, Sample

TINY = "--tiny" in sys.argv
"""Whether the sizes only show that it works."""
SIZES, REPEATS = ((16, 32), 1) if TINY else ((256, 10_000), 5)
SALT = "5eed"
TRACKS = "mcp_servers", "packages", "repositories", "skills"
COUNTS, SHARES = ("tp", "fp", "tn", "fn"), ("f1", "f2")
"""Columns of counts, and of F-scores."""


def population_of(count: int) -> Population:
    """So many miners, with made-up counts and F-scores in every track."""
    random, names = Random(7), [f"hk-{number}" for number in range(count)]
    below = dict.fromkeys(COUNTS, 40) | dict.fromkeys(SHARES, NANO)
    units = dict.fromkeys(COUNTS, NANO) | dict.fromkeys(SHARES, 1)
    samples = {
        column: {
            track: {name: [Sample(random.randrange(most) * units[column])] for name in names}
            for track in TRACKS
        }
        for column, most in below.items()
    }
    miners = [Miner(name, attributes={"contributor": name.endswith("5")}) for name in names]
    round_of = {"salt": SALT, "reserved": "treasury", "share": Decimal("0.18")}
    return Population(tuple(miners), samples, round=round_of)


def seconds(work: Callable[[], object]) -> float:
    """The processor time of one call."""
    start = time.process_time()
    work()
    return time.process_time() - start


def main() -> None:
    """Measure each size and print a line for it."""
    click.echo(f"Phylax's list; least of {REPEATS}")
    bound = bound_allocation(rules_of("phylax"))
    for miners in SIZES:
        population = population_of(miners)
        least = min(seconds(lambda: allocate(bound, population)) for _ in range(REPEATS))  # noqa: B023
        click.echo(
            f"{miners:>7} miners: {1e3 * least:8.2f} ms; {1e6 * least / miners:.1f} µs a miner"
        )


if __name__ == "__main__":
    main()
