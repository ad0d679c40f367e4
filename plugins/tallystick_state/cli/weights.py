"""``tallystick weights``: the weights that a validator sets."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tallystick.cli.command import command, examples
from tallystick.cli.progress import working
from tallystick.cli.shown import show
from tallystick.numbers.nano import to_text
from tallystick.numbers.text import numbered
from tallystick_allocation.command import explain_option, explanation_lines, round_option
from tallystick_state import views
from tallystick_state.cli.options import line_option, locked_ledger_options

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tallystick_allocation.explanation import AllocationExplanation
    from tallystick_state.attributes import RoundFiles
    from tallystick_state.ledger import Ledger
    from tallystick_state.queries import StateQueries
    from tallystick_state.weights import Weights


@command(
    epilog=examples(
        "tallystick weights --state subnet.db",
        "tallystick weights --immune 5NewMiner --state subnet.db --json",
        "tallystick weights --line skills --state subnet.db",
        "tallystick weights --explain 5Miner --state subnet.db",
    ),
)
@locked_ledger_options
@click.option("--immune", multiple=True, metavar="HOTKEY", help="A miner that warms up; repeat.")
@line_option("Of a state of several lines, the weights of one.")
@explain_option
@round_option("Attributes of the open epoch's rounds and of miners that the rules read, as JSON.")
def weights(  # one argument for each option
    ledger: Ledger,
    immune: tuple[str, ...],
    line: str | None,
    hotkey: str | None,
    round_file: Path | None,
) -> None:
    """Show the weights of the miners, exact and as Bittensor's uint16; who has none, and why.

    The steps of the rule set compute them from the records. Each line of a state has its own;
    where pools share all weight, theirs come first, which are those to set.
    """
    with working("weighing"), ledger.queries() as queries:
        names = [*queries.in_force.lines] if line is None else [queries.named_line(line)]
        attributes = _said(queries, round_file)
        columns = {name: queries.line_weights(name, immune, attributes.get(name)) for name in names}
        weights_by_line = {name: queries.chosen(weighed) for name, weighed in columns.items()}
        shared = queries.shared_weights(columns) if line is None else None
        explanations = {}
        if hotkey is not None:
            queries.miner(hotkey)
            every = {name: weighed.explained(hotkey) for name, weighed in columns.items()}
            explanations = {name: steps for name, steps in every.items() if steps is not None}
    lines = _told(weights_by_line, shared, explanations)
    show(views.weights(weights_by_line, shared, explanations), lines)


def _told(
    by_line: Mapping[str, Weights],
    shared: Weights | None,
    explanations: Mapping[str, AllocationExplanation],
) -> Iterator[str]:
    """Yield the weights of all lines and of each, with the explanation of a miner."""
    if shared is not None:
        yield "all lines:"
        yield from _lines(shared)
    for name, item in by_line.items():
        if len(by_line) > 1:
            yield f"{name}:"
        yield from _lines(item)
        if name in explanations:
            yield from explanation_lines(explanations[name])


def _said(queries: StateQueries, path: Path | None) -> RoundFiles:
    """Return the attributes of the round in a file, by line."""
    from tallystick_state.attributes import NO_ATTRIBUTES, read_attributes

    if path is None:
        return {}
    lines = [*queries.in_force.lines]
    attributes = read_attributes(path, map(queries.weighing, lines))
    return {line: attributes.get(line, NO_ATTRIBUTES) for line in lines}


_ROUNDED = ", of weights that are rounded one by one"


def _lines(found: Weights) -> list[str]:
    lines = list[str]()
    if found.without:
        having = found.miners - len(found.without)
        lines.append(f"{numbered(found.miners, 'miner')} with a slot, {having} with a weight")
        reasons = Counter(found.without.values())
        lines += [f"{count:>5} without: {reason}" for reason, count in sorted(reasons.items())]
    if not found.uids:
        return [*lines, f"no weights: {found.reason}"]
    rows = [
        (uid, to_text(share), found.uint16.get(uid, "-"))
        for uid, share in zip(found.uids, found.weights, strict=True)
    ]
    return [
        *lines,
        "  uid  weight       uint16",
        *(f"{uid:>5}  {share}  {value:>5}" for uid, share, value in rows),
        f"  sum  {to_text(sum(found.weights))}{_ROUNDED if sum(found.weights) > 1 else ''}",
        *found.notes,
        *(f"{uid:>5}  no weight: {reason}" for uid, reason in found.dropped.items()),
        *([f"no row: {found.reason}"] if found.reason else []),
    ]
