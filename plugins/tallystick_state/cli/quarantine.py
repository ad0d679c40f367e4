"""``tallystick quarantine``: what validators said that is not recorded."""

from __future__ import annotations

from functools import wraps
from itertools import chain
from typing import TYPE_CHECKING

import click

from tallystick.cli.command import CommandGroup, examples
from tallystick.cli.shown import echo, print_json, show, wants_json
from tallystick.io.text import visible
from tallystick.numbers.text import numbered
from tallystick_state import views
from tallystick_state.cli.options import (
    at_option,
    ledger_option,
    locked_ledger_options,
    number_type,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from tallystick_state.answers import ClaimInfo
    from tallystick_state.ledger import Ledger

_NOTHING = "nothing waits: every claim that was taken is recorded"


def _filters(command: Callable[..., None]) -> Callable[..., None]:
    """Return the options that choose claims."""
    of_validator = click.option(
        "--validator", metavar="HOTKEY", help="Only claims of this validator."
    )
    of_round = click.option(
        "--round", "number", type=number_type, metavar="N", help="Only claims about this round."
    )
    return of_validator(of_round(command))


def _decision(decide: Callable[..., None]) -> Callable[..., None]:
    """Make a command of a function that decides about claims, by their numbers or the filters."""

    @wraps(decide)
    def decision(
        *,
        ledger: Ledger,
        claims: tuple[int, ...],
        validator: str | None,
        number: int | None,
        at: datetime | None,
    ) -> None:
        decide(ledger, _chosen(ledger, claims, validator, number), at)

    numbers = click.argument("claims", nargs=-1, type=click.IntRange(1), metavar="[CLAIM]...")
    return numbers(_filters(at_option(locked_ledger_options(decision))))


@click.group(cls=CommandGroup)
def quarantine() -> None:
    """List, accept and drop claims that are not recorded."""


@quarantine.command(
    "list",
    epilog=examples(
        "tallystick quarantine list --state subnet.db",
        "tallystick quarantine list --validator 5Peer --round 7 --state subnet.db",
        "tallystick quarantine list --reason conflict --json --state subnet.db",
    ),
)
@_filters
@click.option(
    "--reason",
    "reasons",
    multiple=True,
    metavar="CODE",
    help="Only claims that are there for this; repeatable. Else all but what was dropped.",
)
@ledger_option
def list_command(
    validator: str | None, number: int | None, reasons: tuple[str, ...], ledger: Ledger
) -> None:
    """List the claims that are not recorded, oldest first, with their numbers and why."""
    from tallystick_state.claims import REASONS

    unknown = [item for item in reasons if item not in REASONS]
    if unknown:
        message = f"found {unknown[0]!r} for --reason, expected some of {', '.join(REASONS)}"
        raise click.UsageError(message)
    with ledger.queries() as queries:
        claims = queries.quarantine(validator, number, reasons)
        if wants_json():
            print_json(views.listed("claims", claims, _NOTHING))
            return
        # line by line, as millions can wait
        first = next(claims, None)
        if first is None:
            echo(_NOTHING)
            return
        echo(f"{'claim':>8}  {'reason':12}  rank  what it is of, and who made it")
        for item in chain([first], claims):
            echo(_line(item))


def _line(claim: ClaimInfo) -> str:
    what = "record" if claim.id is None else f"event {claim.id}"
    what += "" if claim.alignment is None else " with its group"
    about = f"{what} of {claim.hotkey}, {claim.skill_type}, task {claim.task_id}"
    source = f"round {claim.round}, epoch {claim.epoch}, by {claim.validator}"
    return visible(f"{claim.seq:>8}  {claim.reason:12}  {claim.rank}  {about}, {source}")


def _chosen(
    ledger: Ledger, claims: tuple[int, ...], validator: str | None, number: int | None
) -> list[int]:
    """Return the numbers of the claims that are meant."""
    if claims and (validator, number) != (None, None):
        raise click.UsageError("found claims and a filter, expected one of both")
    if not claims and (validator, number) == (None, None):
        raise click.UsageError("found no claim, expected CLAIM, --validator or --round")
    if claims:
        return sorted(set(claims))
    with ledger.queries() as queries:
        return sorted(claim.seq for claim in queries.quarantine(validator, number))


@quarantine.command(
    "accept",
    epilog=examples(
        "tallystick quarantine accept 1204 --state subnet.db",
        "tallystick quarantine accept --validator 5Peer --round 7 --state subnet.db",
    ),
)
@_decision
def accept_command(ledger: Ledger, chosen: list[int], at: datetime | None) -> None:
    """Record claims that wait, by their numbers or all that the filters choose.

    It is refused where another claim stands against one of them: drop that one first.
    """
    ledger.accept(chosen, at)
    told = f"{numbered(len(chosen), 'claim')} accepted"
    show({"accepted": chosen}, [told])


@quarantine.command(
    "drop",
    epilog=examples(
        "tallystick quarantine drop 1204 1207 --state subnet.db",
        "tallystick quarantine drop --validator 5Peer --state subnet.db",
    ),
)
@_decision
def drop_command(ledger: Ledger, chosen: list[int], at: datetime | None) -> None:
    """Leave claims out for good, by their numbers or all that the filters choose.

    What stood against them alone is recorded then. The same claim again stays out.
    """
    released = ledger.drop(chosen, at)
    others = f", {released} released" if released else ""
    told = f"{numbered(len(chosen), 'claim')} dropped{others}"
    show({"dropped": chosen, "released": released}, [told])
