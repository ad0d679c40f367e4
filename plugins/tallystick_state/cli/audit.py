"""``tallystick audit``: what another published, against what follows from its inputs."""

from __future__ import annotations

import json
import sys
from contextlib import ExitStack, contextmanager
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tallystick.cli.command import CommandGroup, examples
from tallystick.cli.locked import Held, locked_options
from tallystick.cli.options import PATH, follow_links_option, rules_option
from tallystick.cli.plugin_options import ExtensibleCommand, PluginOptions, named_rules
from tallystick.cli.progress import progress_bar, working
from tallystick.cli.shown import show
from tallystick.io.text import visible
from tallystick.json_values import json_value
from tallystick.numbers.text import numbered

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from tallystick_state.audit.export import ExportAudit
    from tallystick_state.audit.results_audit import Finding, ResultsAudit
    from tallystick_state.audit.states_audit import Verdict


def _tolerance(_context: click.Context, _option: click.Parameter, value: str) -> Fraction:
    try:
        tolerance = Fraction(value) if len(value) <= 40 and "/" not in value else Fraction(-1)
    except (ValueError, ZeroDivisionError):
        tolerance = Fraction(-1)
    if tolerance < 0:
        raise click.BadParameter(f"found {value!r}, expected a decimal such as 0.000000001")
    return tolerance


@click.group(cls=CommandGroup)
def audit() -> None:
    """Check what another published against what follows from its inputs.

    The exit status is 1 when something differs.
    """


_tolerance_option = click.option(
    "--tolerance",
    default="0",
    callback=_tolerance,
    metavar="D",
    help="Let numbers pass that differ by no more, for floats; they are counted apart.",
)


@audit.command(
    "records",
    cls=ExtensibleCommand,
    epilog=examples(
        "tallystick audit records records.jsonl --rules skills@1.2.0 \\",
        "    --results theirs.jsonl",
        "tallystick audit records records.jsonl --rules skills@1.2.0 \\",
        "    --results theirs.csv --mapping theirs.toml --tolerance 0.000000001",
    ),
)
@click.argument("records", metavar="RECORDS", type=PATH)
@rules_option()
@click.option(
    "--results",
    type=PATH,
    required=True,
    help="The published results: JSONL, CSV or Parquet.",
)
@click.option("--mapping", "mapping_file", type=PATH, help="A mapping of its columns.")
@_tolerance_option
@click.option("--all", "every", type=PATH, help="Write every difference as JSONL.")
@follow_links_option
@locked_options
def records_command(  # noqa: PLR0913, PLR0917  # one argument for each option
    records: Path,
    reference: str | None,
    results: Path,
    mapping_file: Path | None,
    tolerance: Fraction,
    every: Path | None,
    follow_links: bool,
    held: Held,
    plugin_options: PluginOptions,
) -> None:
    """Score RECORDS again and compare the results that were published.

    It reports whether every published value is exact as written, or the first record that differs,
    by how much, and every step behind its score; --tolerance is for results that were computed in
    floats.
    """
    from tallystick_state.audit.published import read_mapping
    from tallystick_state.audit.results_audit import audit_results

    with ExitStack() as stack:
        scorer = stack.enter_context(plugin_options.scoring(reference, held))
        factors = scorer.layout.factors
        mapping = None if mapping_file is None else read_mapping(mapping_file, factors)
        tell = stack.enter_context(_told(every, follow_links))
        progress = stack.enter_context(progress_bar("auditing"))
        result = audit_results(
            scorer,
            records,
            results,
            mapping=mapping,
            tolerance=tolerance,
            tell=tell,
            progress=progress,
        )
    _give(json_value(result), _lines(result, results))


@audit.command(
    "states",
    epilog=examples(
        "tallystick audit states mine.db theirs.jsonl",
        "tallystick audit states mine.jsonl theirs.jsonl --records records.jsonl",
    ),
)
@click.argument("a", metavar="A")
@click.argument("b", metavar="B")
@click.option(
    "--records", type=PATH, metavar="FILE", help="Records, of which one may decide who is wrong."
)
def states_command(a: str, b: str, records: Path | None) -> None:
    """Find the first row in which the states A and B differ, and who is wrong.

    Each is a store or an export, whose log is replayed first. It reports the epoch, the step, the
    row, both values, and the value to which the record itself leads. Where the closed epochs are
    equal, the open one is compared: which claim of which round one of them lacks.
    """
    from tallystick_state.audit.states_audit import audit_states

    with working("comparing"):
        verdict = audit_states(a, b, records)
    names = {"a": a, "b": b}
    view = {"sides": names, "verdict": json_value(verdict)}
    _give(view, _verdict_lines(verdict, names), differs=verdict.kind != "equal")


@audit.command(
    "folder",
    epilog=examples(
        "tallystick audit folder 2026-05-01T11 --rules acme@1.0.0 --format acme/hour",
    ),
)
@click.argument("folder", metavar="FOLDER", type=PATH)
@rules_option("By which its records are scored, and the weights derived.")
@click.option("--format", "name", metavar="FORMAT", required=True, help="The format of a plugin.")
@_tolerance_option
@locked_options
def folder_command(
    folder: Path, reference: str | None, name: str, tolerance: Fraction, held: Held
) -> None:
    """Derive the weights of what a subnet published in FOLDER, and compare those that were set.

    It reports what equality shows, and what it does not.
    """
    from tallystick_state.audit.export import audit_export, format_named, installed_formats

    with named_rules(reference, held) as scorer, working("deriving the weights"):
        form = format_named(name, installed_formats())
        result = audit_export(scorer, form, folder, tolerance=tolerance)
    _give(json_value(result), _export_lines(result, folder))


def _give(
    view: Mapping[str, Any],
    lines: Iterator[str],
    *,
    differs: bool | None = None,
) -> None:
    """Print the outcome for machines or for people, and end."""
    show(view, lines)
    sys.exit(1 if (view["verdict"] == "differs" if differs is None else differs) else 0)


def _verdict_lines(verdict: Verdict, names: Mapping[str, str]) -> Iterator[str]:
    from tallystick.cli.explanation import lines_of  # as the scorer

    if verdict.kind == "equal":
        yield f"equal: {verdict.reason}"
        return
    step = "" if verdict.step is None else f", step {verdict.step}"
    key = "" if verdict.key is None else f", row {_text(verdict.key)}"
    epoch = "the log" if verdict.epoch is None else f"epoch {verdict.epoch}"
    yield f"{verdict.kind}: {epoch}{step}{key}"
    for letter, row in verdict.rows.items():
        yield f"{letter}: {'no row' if row is None else _text(row[-1])}"
    if verdict.derived is not None:
        yield f"derived: {_text(verdict.derived[-1])}"
    wrong = {
        "a": f"a ({names['a']}) is wrong",
        "b": f"b ({names['b']}) is wrong",
        "both": "both are wrong",
        "undecided": "who is wrong is undecided",
    }[verdict.wrong]
    yield f"{wrong}: {verdict.reason}"
    if verdict.explanation is not None:
        yield from ("", *lines_of(verdict.explanation))


def _text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _export_lines(found: ExportAudit, folder: Path) -> Iterator[str]:
    left = [f"{count} {code}" for code, count in found.left_out.items()]
    dropped = [f"{count} {visible(why)}" for why, count in found.dropped.items()]
    yield f"{folder}: {found.verdict}"
    yield f"{numbered(found.scored, 'record')} scored; left out: {', '.join(left) or 'none'}"
    yield f"dropped before: {', '.join(dropped) or 'none'}"
    yield f"rule set {found.rule_set} {found.digest}"
    view = json_value(found)
    yield f"{numbered(len(found.weights), 'weight')} derived; distance {view['total']} in all"
    if found.first is not None:
        first = json_value(found.first)
        yield (
            f"farthest {visible(first['hotkey'])}: set {first['found']}, "
            f"derived {first['derived']}, apart by {first['distance']}"
        )
    yield from ("", "this shows", *(f"  - {visible(text)}" for text in found.proved))
    if found.unproved:
        yield from ("this does not show", *(f"  - {visible(text)}" for text in found.unproved))


@contextmanager
def _told(path: Path | None, follow_links: bool) -> Iterator[Callable[[Finding], None]]:
    """Open the writer of every finding, to a file or nowhere."""
    if path is None:
        yield lambda _: None
        return
    from tallystick.io.atomic import atomic_files, output_path  # when asked for

    with atomic_files(output_path(path, follow_links=follow_links)) as (file,):

        def tell(each: Finding) -> None:
            file.write(json.dumps(json_value(each)).encode() + b"\n")

        yield tell


def _lines(found: ResultsAudit, results: Path) -> Iterator[str]:
    from tallystick.cli.explanation import lines_of  # as the scorer

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
    from tallystick_state.audit.results_audit import decimal

    row = "" if first.line is None else f" in line {first.line}"
    text = f"first    {first.code}: record {first.record}{row}"
    if first.field is not None:
        published, derived = (visible(value or "nothing") for value in (first.found, first.derived))
        text += f": {visible(first.field)}: found {published}, derived {derived}"
    elif first.derived is not None:
        text += f": {visible(first.derived)}"
    return text + ("" if first.distance is None else f", apart by {decimal(first.distance)}")
