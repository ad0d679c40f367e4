"""``tallystick run``: the daemon of a validator."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

import attrs
import click

from tallystick.cli.command import command, examples
from tallystick.cli.locked import Held, locked_options
from tallystick.cli.log import begin_json
from tallystick.cli.options import PATH
from tallystick.cli.shown import show
from tallystick.io.text import visible

if TYPE_CHECKING:
    from tallystick_validator.validator import Step

_LAST_BLOCK = 2**53 - 1


@command(
    epilog=examples(
        "tallystick run --config validator.toml",
        "tallystick run --config validator.toml --once",
        "tallystick run --locked --config validator.toml",
    ),
)
@click.option(
    "--config",
    "path",
    type=PATH,
    required=True,
    metavar="FILE",
    help="The configuration: the state, the network file, the chain, ways in and out.",
)
@click.option("--once", is_flag=True, help="End after all that is due now is done.")
@click.option(
    "--until-block",
    "block",
    type=click.IntRange(0, _LAST_BLOCK),
    metavar="B",
    help="End once block B is finalized and all that is due there is done.",
)
@locked_options
def run(path: Path, once: bool, block: int | None, held: Held) -> None:
    """Run the daemon: take records, close epochs by the chain's finalized blocks, set weights.

    It goes on until SIGTERM, which ends it within ten seconds; SIGHUP reads the configuration
    again. Killed at any instant, it goes on where it was. The log on standard error is JSON, one
    object a line, and its health is printed at the end. With --once and --until-block the exit
    status is 1 where something fails.
    """
    from tallystick_validator.configuration import LEVELS, Configuration
    from tallystick_validator.daemon import Daemon

    if once and block is not None:
        raise click.UsageError("--once and --until-block are two ends: give one")
    configuration = Configuration.load(path)
    begin_json(LEVELS[configuration.log_level])

    def is_last(step: Step) -> bool:
        is_there = block is not None and step.finalized is not None and step.finalized >= block
        return once or (is_there and not step.waits)

    health, was_ended = asyncio.run(Daemon(configuration, held, is_last).run())
    problems = (f"{problem.code}: {problem.message}" for problem in health.problems)
    show(attrs.asdict(health), [health.status, *map(visible, problems)])
    if health.status == "failing" and not was_ended:
        raise click.exceptions.Exit(1)
