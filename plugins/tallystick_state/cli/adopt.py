"""``tallystick state adopt``, ``withdraw`` and ``rules``: which rules a state follows, and when."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import click

from tallystick.cli.command import command, examples
from tallystick.cli.locked import Held, locked_options
from tallystick.cli.progress import working
from tallystick.cli.shown import show
from tallystick.io.text import visible
from tallystick.json_values import JsonObject
from tallystick_allocation.recipients import key_of
from tallystick_state import views
from tallystick_state.cli.options import (
    PoolOptions,
    at_epoch_option,
    authority_options,
    gated_authority_options,
    ledger_option,
    line_option,
    locked_ledger_options,
    major_option,
    opened,
    pools_options,
    state_option,
)

if TYPE_CHECKING:
    from tallystick_state.authority import Authority
    from tallystick_state.ledger import Ledger
    from tallystick_state.rules_in_force import RulesInForce


@command(
    "adopt",
    epilog=examples(
        "tallystick state adopt skills@1.2.0 --at-epoch 20 --state subnet.db",
        "tallystick state adopt mine.toml --at-epoch 40 --major --state subnet.db",
        "tallystick state adopt skills@1.2.0 --at-epoch 20 --state subnet.db \\",
        "    --signed vote.json --block 4711",
        "tallystick state adopt skills@1.2.0 --at-epoch 20 --state subnet.db \\",
        "    --signed vote.json --gate-receipt gate.json",
        "tallystick state adopt --pool skills=0.6 --pool workflow=0.4 \\",
        "    --idle burn:owner --at-epoch 20 --state subnet.db",
    ),
)
@click.argument("reference", metavar="[RULES]", required=False)
@at_epoch_option
@major_option
@pools_options
@gated_authority_options
@state_option
@locked_options
def adopt_command(  # noqa: PLR0913, PLR0917  # one argument for each option
    reference: str | None,
    epoch: int,
    major: bool,
    pools: PoolOptions,
    authority: Authority,
    where: str,
    held: Held,
) -> None:
    """Schedule the rule set RULES for an epoch that has not begun; the state keeps it, whole.

    Until the epoch begins it can be withdrawn. Records of earlier epochs are scored by the rules of
    their own epoch for ever. `tallystick rules diff OLD NEW --state STATE` reports the effect on
    the state. With --pool instead of RULES it schedules other shares of the lines, in place of
    those that were scheduled for that epoch or later.
    """
    if reference is None or pools.shares:
        if reference is not None or not pools.shares or major:
            raise click.UsageError("found RULES and --pool, or neither: expected one of them")
        if authority.gate_receipt is not None:
            raise click.UsageError("found --gate-receipt with --pool, expected it with RULES")
        _share(opened(where, held), pools, epoch, authority)
        return
    held.require_reference(reference)
    ledger = opened(where, held)
    with working("proving the rules"):
        adoption = ledger.adopt(reference, epoch, major=major, authority=authority)
        in_force = ledger.in_force
    view = views.adoption(adoption, in_force)
    told = (
        f"{view['reference']} {view['digest']} holds from epoch {epoch}{_block(view)}, "
        "if nobody withdraws it"
    )
    show(view, [told])


def _share(ledger: Ledger, pools: PoolOptions, epoch: int, authority: Authority) -> None:
    """Schedule other pools."""
    change = ledger.share(
        pools.shares, epoch, idle=pools.idle, burn=pools.burn, authority=authority
    )
    view = views.pools_change(change)
    told = f"from epoch {epoch}: pools {pools_text(view['pools'])}, unless others replace it"
    show(view, [told])


@command(
    "withdraw",
    epilog=examples(
        "tallystick state withdraw --state subnet.db",
        "tallystick state withdraw --line skills --state subnet.db",
    ),
)
@line_option("The line; needed where the state has several.")
@authority_options
@locked_ledger_options
def withdraw_command(line: str | None, authority: Authority, ledger: Ledger) -> None:
    """Take back the last adoption, as long as its epoch has not begun."""
    before = ledger.in_force
    adoption = ledger.withdraw(line, authority=authority)
    view = views.adoption(adoption, before)
    told = (
        f"{view['reference']} {view['digest']} is withdrawn; it would have held from epoch "
        f"{adoption.epoch}"
    )
    show(view, [told])


@command("rules", epilog=examples("tallystick state rules --state subnet.db"))
@ledger_option
def rules_command(ledger: Ledger) -> None:
    """List the rules that held, hold and will hold: since which epoch and block, and who signed."""
    with ledger.queries() as queries:
        in_force, epoch = queries.in_force, queries.state.epoch
    view = views.rules_in_force(in_force, epoch)
    show(view, _lines(view, in_force))


def _lines(view: JsonObject, in_force: RulesInForce) -> Iterator[str]:
    for span in view.get("pools", ()):
        end = "" if span["until"] is None else f" to {span['until']}"
        yield (
            f"{span['status']:9}  from epoch {span['epoch']}{end}  "
            f"pools {pools_text(span)}{_signed(span)}"
        )
    for line in view["lines"]:
        if len(in_force.lines) > 1:
            yield f"{line['line']}:"
        for span in line["rules"]:
            end = "" if span["until"] is None else f" to {span['until']}"
            yield (
                f"{span['status']:9}  from epoch {span['epoch']}{end}{_block(span)}  "
                f"{span['reference']} {span['digest']}{_signed(span)}"
            )


def pools_text(view: Mapping[str, Any]) -> str:
    """Return pools as one line, from their JSON."""
    shares = ", ".join(f"{visible(line)} {share}" for line, share in view["shares"].items())
    idle = f"{view['idle']} to the others"
    if view["idle"] == "burn":
        idle = f"burnt by {visible(key_of(view['burn']))}"
    return f"{shares}; of idle lines {idle}"


def _block(view: JsonObject) -> str:
    return "" if view["block"] is None else f", block {view['block']}"


def _signed(view: JsonObject) -> str:
    return f", signed by {', '.join(view['signed_by'])}" if view["signed_by"] else ""
