"""``tallystick audit``: what another published, against what follows from its inputs."""

from __future__ import annotations

import json
import sys
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tallystick.cli.command import examples
from tallystick.cli.locked import Held, locked_options
from tallystick.cli.progress import progress_bar
from tallystick.cli.settings import Setting
from tallystick.cli.shown import as_json, echo, follow_links_option, print_json
from tallystick.cli.state_options import snapshots_option, with_snapshots
from tallystick.io.text import visible
from tallystick.numbers.text import numbered

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tallystick.audit.results_audit import Finding, ResultsAudit


def _tolerance(_context: click.Context, _option: click.Parameter, value: str) -> Fraction:
    try:
        found = Fraction(value) if len(value) <= 40 and "/" not in value else Fraction(-1)
    except (ValueError, ZeroDivisionError):
        found = Fraction(-1)
    if found < 0:
        raise click.BadParameter(f"found {value!r}, expected a decimal such as 0.000000001")
    return found


@click.command(
    epilog=examples(
        "tallystick audit records.jsonl --rules skills@1.1.0 --results theirs.jsonl",
        "tallystick audit records.jsonl --rules skills@1.1.0 --results theirs.csv \\",
        "    --mapping theirs.toml --tolerance 0.000000001",
    ),
)
@click.argument("records", type=click.Path(path_type=Path))
@click.option(
    "--rules",
    "reference",
    cls=Setting,
    key="rules",
    required=True,
    metavar="RULES",
    help="name@version, a path or a digest; pin one with @sha256:…",
)
@click.option(
    "--results",
    required=True,
    type=click.Path(path_type=Path),
    help="What was published: JSONL, CSV or Parquet.",
)
@click.option(
    "--mapping", "mapping_file", type=click.Path(path_type=Path), help="What its columns mean."
)
@click.option(
    "--tolerance",
    default="0",
    callback=_tolerance,
    metavar="D",
    help="Let numbers pass that differ by no more, for floats; they are counted apart.",
)
@click.option(
    "--all", "every", type=click.Path(path_type=Path), help="Write every difference as JSONL."
)
@follow_links_option
@snapshots_option
@locked_options
@as_json
def audit(  # noqa: PLR0913, PLR0917  # one argument for each option
    records: Path,
    reference: str,
    results: Path,
    mapping_file: Path | None,
    tolerance: Fraction,
    every: Path | None,
    follow_links: bool,
    where: str | None,
    as_json: bool,
    held: Held,
) -> None:
    """Score the RECORDS again, and compare every value with RESULTS that another published.

    Says whether they are equal, or which record differs first, by how much, and every step behind
    its score. A value is equal only if it is the exact one as it is written; --tolerance is for
    results that were computed in floats. The exit status is 1 when something differs.
    """
    from tallystick.audit.mapping import read  # noqa: PLC0415  # heavy
    from tallystick.audit.results_audit import DIFFERS, audit_results  # noqa: PLC0415  # as above
    from tallystick.scoring.scorer import load  # noqa: PLC0415  # as above

    mapping = None if mapping_file is None else read(mapping_file)
    rules = load(reference)
    held.require(rules)
    with (
        with_snapshots(rules, where) as scorer,
        _told(every, follow_links) as tell,
        progress_bar("auditing") as progress,
    ):
        found = audit_results(
            scorer,
            records,
            results,
            mapping=mapping,
            tolerance=tolerance,
            tell=tell,
            progress=progress,
        )
    if as_json:
        print_json(found.to_dict())
    else:
        echo(*_lines(found, results))
    sys.exit(1 if found.verdict == DIFFERS else 0)


@contextmanager
def _told(path: Path | None, follow_links: bool) -> Iterator[Callable[[Finding], None]]:
    """What takes every finding: a file, or nothing."""
    if path is None:
        yield lambda _: None
        return
    from tallystick.io.atomic import atomic_files, output_path  # noqa: PLC0415  # when asked for

    with atomic_files(output_path(path, follow_links=follow_links)) as (file,):

        def tell(each: Finding) -> None:
            file.write(json.dumps(each.to_dict()).encode() + b"\n")

        yield tell


def _lines(found: ResultsAudit, results: Path) -> Iterator[str]:
    from tallystick.cli.explanation import lines_of  # noqa: PLC0415  # as the scorer

    counts = [f"{numbered(found.rows, 'row')}: {found.equal} equal"]
    if found.within_tolerance:
        counts.append(f"{found.within_tolerance} within the tolerance")
    counts += [f"{count} {code}" for code, count in found.differ.items()]
    yield f"{results}: {found.verdict}"
    yield f"{', '.join(counts)}; {numbered(found.records, 'record')}, {found.rejected} rejected"
    yield f"rule set {found.rule_set} {found.digest}"
    if found.receipt is not None:
        others = ", ".join(name for name, same in found.receipt.items() if not same)
        yield f"receipt  {f'of another {others}' if others else 'of the same'}"
    if found.first is not None:
        yield _first(found.first)
    if found.explanation is not None:
        yield ""
        yield from lines_of(found.explanation)


def _first(first: Finding) -> str:
    from tallystick.audit.results_audit import decimal  # noqa: PLC0415  # heavy

    row = "" if first.line is None else f" in line {first.line}"
    text = f"first    {first.code}: record {first.record}{row}"
    if first.field is not None:
        found, derived = (visible(each or "nothing") for each in (first.found, first.derived))
        text += f": {visible(first.field)}: found {found}, derived {derived}"
    elif first.derived is not None:
        text += f": {visible(first.derived)}"
    return text + ("" if first.distance is None else f", apart by {decimal(first.distance)}")
