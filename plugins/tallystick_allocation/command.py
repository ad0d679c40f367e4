"""``tallystick allocate``: from a table of miners to weights, without a state."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tallystick.cli.command import command, examples
from tallystick.cli.locked import Held, locked_options
from tallystick.cli.options import (
    PATH,
    Decorator,
    follow_links_option,
    output_option,
    rules_option,
)
from tallystick.cli.progress import working
from tallystick.cli.shown import echo, print_json, wants_json
from tallystick.io.streams import is_stream
from tallystick.numbers.nano import to_text
from tallystick.numbers.text import numbered

if TYPE_CHECKING:
    from tallystick_allocation.allocate import Allocation
    from tallystick_allocation.explanation import AllocationExplanation, ExplainedStep


explain_option = click.option(
    "--explain", "hotkey", metavar="HOTKEY", help="Show every column of one miner."
)
"""The option that explains the weight of one miner."""


def round_option(description: str) -> Decorator:
    """Return the option that names the attributes of a round."""
    return click.option("--round", "round_file", type=PATH, help=description)


@command(
    epilog=examples(
        "tallystick allocate miners.csv --rules my.toml -o weights.json",
        "tallystick allocate results.jsonl --rules my.toml --round round.json \\\n"
        "    --carry last.json -o weights.json --uint16",
        "tallystick allocate miners.parquet --rules my.toml -o weights.json \\\n    --explain 5F3s",
    ),
)
@click.argument("population", type=PATH)
@rules_option(required=True)
@round_option("Attributes of the round and of miners that the rules read, as JSON.")
@click.option(
    "--carry",
    "carry_file",
    type=PATH,
    help="The weights of the round before, of the same rules.",
)
@output_option("Where the weights go.")
@explain_option
@click.option(
    "--uint16", "as_uint16", is_flag=True, help="Show the weights as Bittensor takes them, by uid."
)
@follow_links_option
@locked_options
def allocate(  # noqa: PLR0913, PLR0917  # one argument for each option
    population: Path,
    reference: str,
    round_file: Path | None,
    carry_file: Path | None,
    output: Path,
    hotkey: str | None,
    as_uint16: bool,
    follow_links: bool,
    held: Held,
) -> None:
    """Give the miners of the file POPULATION their weights by the steps of a rule set.

    POPULATION is a table of miners, or the results of tallystick score, as JSONL, Parquet or CSV.
    The weights go to OUTPUT, with what the next round reads by --carry. The exit status is 1 when
    the population has no weights by the rules, such as shares of nothing; nothing is written then.
    """
    from tallystick.io.atomic import write_file  # when it writes
    from tallystick.io.text import json_text
    from tallystick.scoring.scorer import load
    from tallystick_allocation import allocation
    from tallystick_allocation.explanation import explained
    from tallystick_allocation.files import weights_document

    if wants_json() and is_stream(output):
        raise click.UsageError(f"--json and -o {output} both want the standard output: name a file")
    scorer = load(reference)
    held.require(scorer)
    with working("allocating"):
        weighed = allocation.allocate(scorer, population, round=round_file, carry=carry_file)
        document = weights_document(weighed)
        explanation = None if hotkey is None else explained(weighed, hotkey)
    text = f"{json_text(document, indent=2)}\n"
    write_file(output, text.encode(), follow_links=follow_links)
    if wants_json():
        more = {} if explanation is None else {"explanation": explanation.to_dict()}
        print_json({**document, **more})
    else:
        lines = _summary(weighed, document, as_uint16=as_uint16)
        lines += [] if explanation is None else ["", *explanation_lines(explanation)]
        echo(*lines, err=is_stream(output))


def _summary(found: Allocation, document: dict[str, Any], *, as_uint16: bool) -> list[str]:
    miners = len(found.step_input.population.miners)
    reasons = Counter(found.without.values())
    lines = [f"{numbered(miners, 'miner')}, {miners - len(found.without)} with a weight"]
    lines += [f"{count:>5} without: {reason}" for reason, count in sorted(reasons.items())]
    if not any(found.weights.values()):
        return [*lines, "no weights: nobody has one above 0"]
    if as_uint16:
        pairs = zip(document["uids"], document["uint16"], strict=True)
        left_out = (f"{uid:>5}  no weight: {why}" for uid, why in document["dropped"].items())
        rows = (f"{uid:>5}  {value:>6}" for uid, value in pairs)
        return [*lines, "  uid  uint16", *rows, *left_out]
    ordered = sorted(found.weights.items(), key=lambda item: (-item[1], item[0]))
    rows = (f"{to_text(nano)}  {hotkey}" for hotkey, nano in ordered if nano)
    return [*lines, *rows, f"{to_text(sum(found.weights.values()))}  in all", *found.notes]


def explanation_lines(explanation: AllocationExplanation) -> list[str]:
    """Return every column of one miner, a line each."""
    lines = [f"{explanation.hotkey}:"]
    for step in explanation.steps:
        lines += _lines(step)
    if explanation.without:
        lines.append(f"no weight: {explanation.without}")
    return lines


def _lines(step: ExplainedStep) -> list[str]:
    read = f" of {', '.join(step.reads)}" if step.reads else ""
    head = f"  {step.name} = {step.do}{read}"
    rounded = ", rounded" if step.is_published else ""
    if not step.is_computed:
        return [f"{head}: not computed"]
    if isinstance(step.value, str) or step.value is None:
        return [f"{head}: {step.value or 'none'}{rounded if step.value else ''}"]
    return [
        f"{head}{rounded}:",
        *(f"    {group}: {value or 'none'}" for group, value in step.value.items()),
    ]
