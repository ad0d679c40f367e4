"""``tallystick rules prove``: prove a rule set, or find records that break it."""

from __future__ import annotations

import json
import sys
from collections import Counter
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING

import attrs
import click

from tallystick.cli.command import examples
from tallystick.cli.shown import as_json, print_json
from tallystick.errors import OutputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tallystick.governance.prove.property import Answer

_STATUSES = ("proved", "counterexample", "undecided")


@click.command(
    "prove",
    epilog=examples(
        "tallystick rules prove workflow@1.1.0",
    ),
)
@click.argument("reference", metavar="RULES")
@click.option(
    "--seconds",
    type=click.FloatRange(min=0, min_open=True),
    callback=lambda _context, _option, seconds: _checked(seconds),
    metavar="N",
    help="Stop after so many seconds; what is open then is undecided. By default 60.",
)
@click.option("--property", "only", metavar="NAME", help="Ask this property alone.")
@click.option(
    "--save",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write the records of the counterexamples, one a line, as `tallystick score` takes them.",
)
@as_json
def prove_command(
    reference: str, seconds: float | None, only: str | None, save: Path | None, as_json: bool
) -> None:
    """Prove properties of RULES for every valid record, or find records that break them.

    What is asked: axes stay in [0, 1], a higher axis or a better fact never lowers a score, nothing
    is gained by repeating items, nobody is treated differently, and what the plugins promise. Each
    is proved, refuted by records that `tallystick score` confirms, or undecided. The exit status is
    1 when one is refuted. It needs the extra `prove`.
    """
    from tallystick.cli.progress import progress_bar  # noqa: PLC0415  # heavy
    from tallystick.governance.prove.proving import OVERALL, prove  # noqa: PLC0415  # as above
    from tallystick.scoring.scorer import load  # noqa: PLC0415  # as above

    scorer = load(reference)
    with progress_bar("proving") as progress:
        found = prove(scorer, only=only, overall=seconds or OVERALL, progress=progress)
    if save is not None:
        _save(save, found)
    if as_json:
        print_json({"results": [attrs.asdict(answer) for answer in found]})
    else:
        click.echo("\n".join(_lines(scorer.rule_set.reference, found)))
    sys.exit(1 if any(answer.status == "counterexample" for answer in found) else 0)


def _checked(seconds: float | None) -> float | None:
    if seconds is not None and isnan(seconds):
        raise click.BadParameter("found nan, expected a number of seconds")
    return seconds


def _save(path: Path, found: Iterable[Answer]) -> None:
    text = "".join(f"{line}\n" for answer in found for line in _records(answer))
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise OutputError(f"{path}: cannot be written ({reason}): choose another file") from error


def _records(answer: Answer) -> Iterator[str]:
    for record in (answer.record, answer.other):
        if record is not None:
            yield json.dumps(record, ensure_ascii=True)


def _lines(name: str, found: Sequence[Answer]) -> Iterator[str]:
    properties = list(dict.fromkeys(answer.property for answer in found))
    width = max(map(len, properties), default=0)
    yield f"{'property':{width}}  {'  '.join(_STATUSES)}"
    for each in properties:
        counts = Counter[str](answer.status for answer in found if answer.property == each)
        cells = (f"{counts[status] or '–':>{len(status)}}" for status in _STATUSES)
        yield f"{each:{width}}  {'  '.join(cells)}"
    for answer in found:
        if answer.status != "proved":
            yield from ("", *_unproved(answer))
    counts = Counter[str](answer.status for answer in found)
    yield ""
    yield f"{name}: " + ", ".join(f"{counts[status]} {status}" for status in _STATUSES)


def _unproved(answer: Answer) -> Iterator[str]:
    about = f" ({answer.about})" if answer.about else ""
    where = f"{answer.property}, {answer.skill_type} {answer.axis}{about}"
    yield f"{answer.status}: {where}"
    if answer.summary:
        yield f"  claimed: {answer.summary}"
    if answer.reason:
        yield f"  {answer.reason}"
    shown = zip((answer.value, answer.other_value), _records(answer), strict=False)
    for number, (value, record) in enumerate(shown):
        yield f"  {'the other' if number else 'this record'}: {answer.axis} {value}"
        yield f"{record}"
