"""``tallystick miner``: list, register and sync miners, clear their flags."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tallystick.cli.command import CommandGroup, examples
from tallystick.cli.options import PATH
from tallystick.cli.plugin_options import ExtensibleCommand, PluginOptions
from tallystick.cli.progress import working
from tallystick.cli.shown import show, table_lines
from tallystick.io.text import visible
from tallystick.numbers.nano import to_text
from tallystick.numbers.text import numbered
from tallystick_state import views
from tallystick_state.cli.options import at_option, ledger_option, locked_ledger_options

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from tallystick_state.answers import MinerInfo
    from tallystick_state.ledger import Ledger


@click.group(cls=CommandGroup)
def miner() -> None:
    """List, register, sync and clear the miners of a state."""


@miner.command(
    "list",
    epilog=examples(
        "tallystick miner list --state subnet.db",
        "tallystick miner list --type translation --state subnet.db --json",
    ),
)
@click.option("--type", "skill_type", metavar="TYPE", help="Only those that declare it.")
@ledger_option
def list_command(skill_type: str | None, ledger: Ledger) -> None:
    """List the miners of a state by slot: types, reputations and collusion flags.

    Those without a slot come last. It is the operator's view, which is whole.
    """
    from tallystick_state.queries import NO_MINERS

    with ledger.queries() as queries:
        epoch, miners = queries.state.epoch, queries.miners()
        reason = "" if miners else NO_MINERS
        if skill_type is not None:
            queries.rules.of_type(skill_type)
            miners = [entry for entry in miners if skill_type in entry.types]
            reason = "" if miners else queries.no_candidates(skill_type)
    answer = views.listed("miners", miners, reason, epoch=epoch)
    rows = [row for entry in miners for row in _rows(entry)]
    headings = ("slot", "hotkey", "skill type", "reputation", "")
    lines = table_lines(headings, rows) if rows else [f"no miners: {reason}"]
    show(answer, [f"epoch {epoch}", *lines])


def _rows(found: MinerInfo) -> Iterator[tuple[str, ...]]:
    """Yield a row for each reputation of a miner, its flags in the first."""
    slot, hotkey = "–" if found.uid is None else str(found.uid), visible(found.hotkey)
    flags = numbered(found.flags, "flag") if found.flags else ""
    if found.flagged_by:
        flags += f" of {numbered(len(found.flagged_by), 'validator')}"
    if not found.reputation:
        yield slot, hotkey, "–", "–", flags
    for name, nano in sorted(found.reputation.items()):
        left = "" if name in found.types else "no longer declared"
        yield slot, hotkey, name, to_text(nano), ", ".join(filter(None, (flags, left)))
        flags = ""


@miner.command(
    "register",
    epilog=examples(
        "tallystick miner register 5Hotkey --uid 7 --types translation,summary \\",
        "    --state subnet.db",
    ),
)
@click.argument("hotkey")
@click.option("--uid", required=True, type=int, help="The miner's slot in the subnet.")
@click.option("--types", required=True, metavar="A,B,…", help="The skill types it declares.")
@locked_ledger_options
def register_command(hotkey: str, uid: int, types: str, ledger: Ledger) -> None:
    """Register the miner HOTKEY in a slot; who held the slot is left behind.

    A new hotkey begins at the initial reputation for each type. One that is known keeps what it
    has, and declares the given types from now on.
    """
    declared = [name for part in types.split(",") if (name := part.strip())]
    registered = ledger.register(hotkey, uid, declared)
    told = f"{visible(hotkey)}: uid {uid}, declares {', '.join(registered.types)}"
    names = ("hotkey", "uid", "types", "reputation")
    show({name: getattr(registered, name) for name in names}, [told])


@miner.command(
    "sync",
    cls=ExtensibleCommand,
    epilog=examples(
        "tallystick miner sync miners.csv --state subnet.db",
        "cat miners.jsonl | tallystick miner sync - --state subnet.db",
    ),
)
@click.argument("file", type=PATH, required=False)
@locked_ledger_options
def sync_command(file: Path | None, ledger: Ledger, plugin_options: PluginOptions) -> None:
    """Give every slot to the miner that FILE lists: register, move and retire, all at once.

    FILE is CSV with the header uid,hotkey,types, the types separated by spaces; or JSONL with the
    same keys. It has all miners of the subnet: who is not in it holds no slot any more, and keeps
    its reputations. If a line is bad nothing changes and the exit status is 1. A list may have
    registered_block as well: a miner whose block is later than before begins anew.
    """
    other = plugin_options.input(file, "FILE")
    with working("registering"):
        source: Any = file
        if other is not None:
            with ledger.queries() as queries:
                source = other([*queries.rules.type_rules])
        changes = ledger.sync_miners(source)
    by_change = {n: getattr(changes, n) for n in ("registered", "moved", "changed", "retired")}
    lines = (
        f"{name:10}  {len(hotkeys):>6}  {', '.join(map(visible, hotkeys))}"
        for name, hotkeys in by_change.items()
        if hotkeys
    )
    told = ("change      miners  hotkeys", *lines, f"unchanged   {changes.unchanged:>6}")
    show(changes, told)


@miner.command(
    "clear",
    epilog=examples(
        "tallystick miner clear 5Hotkey --state subnet.db",
    ),
)
@click.argument("hotkey")
@locked_ledger_options
@at_option
def clear_command(hotkey: str, ledger: Ledger, at: datetime | None) -> None:
    """Clear the collusion flags of the miner HOTKEY, which ends its ejection."""
    cleared = ledger.clear(hotkey, at)
    told = f"{visible(hotkey)}: {numbered(cleared, 'flag')} cleared"
    show({"hotkey": hotkey, "cleared": cleared}, [told])
