"""How fast an epoch of Yuma is, beside the same in plain Python integers.

Run it as ``python tests/benchmarks/yuma.py [--tiny]``. 64 validators weigh 256 miners, and have
bonds in all of them: 16 384 weights, classic and with liquid alpha. It prints the least processor
time of several repeats, taken in turn in one process:

* *plain*: `oracle.yuma`, lists and dictionaries of Python's integers;
* *epoch*: the same in columns, from columns to columns;
* *case*: `tallystick.yuma`, which also checks the lists of a case, makes columns of them, and lists
  of the result.
"""

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import numpy as np

# in the place of this folder, where a module has the name of that of the tests
sys.path.pop(0)
sys.path.append(str(Path(__file__).resolve().parents[1]))

from oracle.yuma import epoch as plain_epoch
from yuma.nets import large_net

import tallystick
from tallystick_yuma.cells import Cells
from tallystick_yuma.epoch import epoch
from tallystick_yuma.inputs import YumaInput, YumaParameters

TINY = "--tiny" in sys.argv
"""Whether the sizes only show that it works."""
VALIDATORS, MINERS = (8, 32) if TINY else (64, 256)
REPEATS = 1 if TINY else 15
TARGET = 15


def seconds(work: Callable[[], object]) -> float:
    """The processor time of one call."""
    start = time.process_time()
    work()
    return time.process_time() - start


def columns_of(given: dict[str, Any]) -> YumaInput:
    """The input of a step in columns."""
    return YumaInput(
        block=given["block"],
        emission=given["emission"],
        last_update=tuple(given["last_update"]),
        registered=tuple(given["registered"]),
        alpha=tuple(given["alpha"]),
        tao=(0,) * given["n"],
        weights=Cells.of(given["weights"]),
        bonds=Cells.of(given["bonds"]),
        permits=tuple(given["permits"]),
    )


def measure(*, liquid: bool) -> dict[str, float]:
    """Milliseconds of each way, the least of the repeats; they come to the same."""
    case = large_net(VALIDATORS, MINERS, liquid=liquid)
    params, plain = case["params"], case["steps"][0]["input"]
    parameters, given = YumaParameters(**params), columns_of(plain)
    ways: dict[str, Callable[[], object]] = {
        "plain": lambda: plain_epoch(params, plain),
        "epoch": lambda: epoch(parameters, given),
        "case": lambda: tallystick.yuma(case),
    }
    assert tallystick.yuma(case)["steps"] == [plain_epoch(params, plain)]
    times = [{name: seconds(work) for name, work in ways.items()} for _ in range(REPEATS)]
    return {name: 1e3 * min(each[name] for each in times) for name in ways}


def main() -> None:
    """Measure both kinds and print a line for each."""
    click.echo(f"{VALIDATORS} × {MINERS}, numpy {np.__version__}; ms, least of {REPEATS}")
    click.echo(f"target: an epoch at least {TARGET} times as fast as plain integers")
    click.echo("kind        plain   epoch    case  plain/epoch  plain/case")
    for name, liquid in (("classic", False), ("liquid", True)):
        ms = measure(liquid=liquid)
        times = "".join(f"{ms[way]:8.2f}" for way in ("plain", "epoch", "case"))
        ratios = f"{ms['plain'] / ms['epoch']:13.1f}{ms['plain'] / ms['case']:12.1f}"
        click.echo(f"{name:9}{times}{ratios}")


if __name__ == "__main__":
    main()
