"""How fast an allocation is, beside the same in plain floats.

Run it as ``python tests/benchmarks/population.py [--tiny]``. Miners of Phylax's four tracks, each
with the counts of its verdicts in each track, get their weights by Phylax's list of steps: 256
miners and 10 000. It prints the least processor time of several repeats, taken in turn in one
process, and how it grows with the miners:

* *floats*: one function over dictionaries of floats, with `math.sqrt`, as a validator writes it;
* *exact*: `allocate` over a population that is read already, which binds nothing anew.

They come to the same weights, to within what rounding does.
"""

import sys
import time
from collections.abc import Callable, Mapping
from decimal import Decimal
from hashlib import sha256
from math import sqrt
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
TARGET = 20
SALT = "5eed"
TRACKS = {"mcp_servers": 0.225, "packages": 0.25, "repositories": 0.30, "skills": 0.225}
CUTS = {"mcp_servers": 0.20, "packages": 0.20, "repositories": 0.50, "skills": 0.20}
PARTS = (0.5, 0.3, 0.2)
Tallies = Mapping[str, Mapping[str, Mapping[str, float]]]
"""The columns by name, track and hotkey."""


def tallies(miners: int) -> Tallies:
    """Made-up counts and F-scores of every miner in every track."""
    random = Random(7)
    found: dict[str, dict[str, dict[str, float]]] = {}
    for name in ("tp", "fp", "tn", "fn", "f1", "f2"):
        for track in TRACKS:
            held = found.setdefault(name, {}).setdefault(track, {})
            for number in range(miners):
                count = name in ("tp", "fp", "tn", "fn")
                held[f"hk-{number}"] = (
                    random.randrange(40) if count else random.randrange(NANO) / NANO
                )
    return found


def population_of(held: Tallies) -> Population:
    """The same as a population."""
    names = sorted(held["tp"]["skills"])
    samples = {
        name: {
            track: {hotkey: [Sample(round(value * NANO))] for hotkey, value in cells.items()}
            for track, cells in tracks.items()
        }
        for name, tracks in held.items()
    }
    miners = [Miner(name, attributes={"contributor": name.endswith("5")}) for name in names]
    round_of = {"salt": SALT, "reserved": "treasury", "share": Decimal("0.18")}
    return Population(tuple(miners), samples, round=round_of)


def weights_by_floats(held: Tallies) -> dict[str, float]:
    """The weights of a first round."""
    kept = {track: _kept(track, held) for track in TRACKS}
    active = {track: scores for track, scores in kept.items() if scores}
    spare = sum(share for track, share in TRACKS.items() if track not in active) / len(active)
    new: dict[str, float] = {}
    for track, scores in active.items():
        best = sorted(scores.items(), key=lambda item: (-item[1], _digest(track, item[0])))[:3]
        whole = sum(PARTS[: len(best)])
        for (hotkey, _), part in zip(best, PARTS, strict=False):
            new[hotkey] = new.get(hotkey, 0) + (TRACKS[track] + spare) * part / whole * 0.95
    present = {hotkey for scores in active.values() for hotkey in scores}
    helpers = [hotkey for hotkey in present if hotkey.endswith("5")]
    for hotkey in helpers:
        new[hotkey] = new.get(hotkey, 0) + 0.05 / len(helpers)
    smooth = {hotkey: 0.3 * share for hotkey, share in new.items() if 0.3 * share > 1e-9}
    whole = sum(smooth.values())
    weights = {hotkey: share / whole * (1 - 0.18) for hotkey, share in smooth.items()}
    return {**weights, "treasury": 0.18}


def _digest(track: str, hotkey: str) -> str:
    return sha256(f"{SALT}:{track}:{hotkey}".encode()).hexdigest()


def _kept(track: str, held: Tallies) -> dict[str, float]:
    columns = {name: tracks[track] for name, tracks in held.items()}
    scores = {}
    for hotkey in columns["tp"]:
        if track == "repositories":
            score = columns["f2"][hotkey]
        else:
            tp, fp, tn, fn, f1 = (columns[n][hotkey] for n in ("tp", "fp", "tn", "fn", "f1"))
            margins = (tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)
            mcc = min(max((tp * tn - fp * fn) / sqrt(margins), 0), 1) if margins else 0.0
            score = round(min(max(0.7 * mcc + 0.3 * f1, 0), 1), 9)
        if score >= CUTS[track]:
            scores[hotkey] = score
    return scores


def seconds(work: Callable[[], object]) -> float:
    """The processor time of one call."""
    start = time.process_time()
    work()
    return time.process_time() - start


def measure(miners: int) -> dict[str, float]:
    """Milliseconds of each way, the least of the repeats."""
    held = tallies(miners)
    bound, population = bound_allocation(rules_of("phylax")), population_of(held)
    exact, floats = allocate(bound, population).weights, weights_by_floats(held)
    assert exact.keys() == floats.keys()
    # what is carried is rounded, which moves its sum, and so every share, by a few nano
    assert all(abs(exact[key] - NANO * floats[key]) < 10 for key in exact)
    ways: dict[str, Callable[[], object]] = {
        "floats": lambda: weights_by_floats(held),
        "exact": lambda: allocate(bound, population),
    }
    times = [{name: seconds(work) for name, work in ways.items()} for _ in range(REPEATS)]
    return {name: 1e3 * min(each[name] for each in times) for name in ways}


def main() -> None:
    """Measure each size and print a line for it."""
    click.echo(f"Phylax's list; ms, least of {REPEATS}; target: at most {TARGET} × floats")
    for miners in SIZES:
        found = measure(miners)
        floats, exact = found["floats"], found["exact"]
        click.echo(
            f"{miners:>7} miners: floats {floats:8.2f}, exact {exact:8.2f}, "
            f"{exact / floats:4.1f} ×; {1e3 * exact / miners:.1f} µs a miner"
        )


if __name__ == "__main__":
    main()
