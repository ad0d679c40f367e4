"""``tallystick records generate``: make up records."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tallystick.cli.command import command, examples
from tallystick.cli.options import follow_links_option, number_option, output_option
from tallystick.cli.progress import working
from tallystick.cli.shown import show, wants_json
from tallystick.io.streams import STANDARD, standard_output
from tallystick.numbers.text import numbered

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tallystick.plugins.skill_type import SkillType

_LINES = 1000
_SLOTS = 65536


@command(
    "generate",
    epilog=examples(
        "tallystick records generate --seed 7 --count 2000 -o history.jsonl",
        "tallystick records generate --seed 7 --types translation -o - | head -n 1",
    ),
)
@click.option("--seed", required=True, type=int, help="Equal seeds give equal bytes.")
@number_option("count", 10_000, "How many records.")
@click.option("--types", metavar="A,B,…", help="The skill types; by default every installed one.")
@number_option("miners", 64, "How many miners.", most=_SLOTS)
@number_option("validators", 3, "How many validators.")
@number_option("epochs", 10, "How many epochs.")
@number_option("rounds", 10, "An epoch.")
@output_option("Where the records go; - is the standard output.")
@click.option(
    "--miner-list",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Write the miners too, as tallystick miner sync takes them.",
)
@follow_links_option
def generate_command(  # noqa: PLR0913, PLR0917  # one argument for each option
    seed: int,
    count: int,
    types: str | None,
    miners: int,
    validators: int,
    epochs: int,
    rounds: int,
    output: Path,
    miner_list: Path | None,
    follow_links: bool,
) -> None:
    """Make up the records of a network: COUNT lines of about 1.1 kB, the same for the same options.

    Better and worse miners do tasks of all types, and several validators record each answer. The
    records are spread evenly over the rounds, which are numbered on from epoch to epoch, from 0.
    """
    from tallystick_conformance.testing.history import history_of

    if wants_json() and output == STANDARD:
        raise click.UsageError("--json and -o - both want the standard output: name a file")
    history = history_of(
        seed,
        _chosen(types),
        miners=miners,
        validators=validators,
        epochs=epochs,
        rounds=rounds,
    )
    if miner_list is not None:
        _write([history.network.to_csv()], miner_list, follow_links)
    blocks = _blocks(history.lines(count))
    if output == STANDARD:
        _print(blocks)
    else:
        with working("generating"):
            size, digest = _write(blocks, output, follow_links)
        _tell(count, size, digest, output)


def _chosen(types: str | None) -> list[SkillType]:
    from tallystick.diagnostics import nearest
    from tallystick.plugins.registry import installed

    skill_types = installed().skill_types
    if types is None:
        return list(skill_types.values())
    names = list(dict.fromkeys(name for part in types.split(",") if (name := part.strip())))
    unknown = [name for name in names if name not in skill_types]
    if unknown or not names:
        missing = ", ".join(unknown) or "no skill type"
        hint = nearest(unknown[0], skill_types) if unknown else ""
        raise click.UsageError(
            f"--types: found {missing}, expected some of {', '.join(skill_types)}{hint}"
        )
    return [skill_types[name] for name in names]


def _blocks(lines: Iterator[bytes]) -> Iterator[bytes]:
    while block := b"".join(islice(lines, _LINES)):
        yield block


def _print(blocks: Iterator[bytes]) -> None:
    output = standard_output()
    for block in blocks:
        output.write(block)


def _write(blocks: Iterable[bytes], output: Path, follow_links: bool) -> tuple[int, str]:
    """Write a file, whole or not at all; its size and its digest."""
    from tallystick.io.atomic import atomic_files, output_path

    size = 0
    with atomic_files(output_path(output, follow_links=follow_links)) as (file,):
        for block in blocks:
            file.write(block)
            size += len(block)
        return size, file.digest()


def _tell(count: int, size: int, digest: str, output: Path) -> None:
    show(
        {"records": count, "bytes": size, "file": str(output), "digest": digest},
        [f"{numbered(count, 'record')}, {size} bytes", f"records  {output} {digest}"],
    )
