"""``tallystick demo``: the bundled examples of every skill type under every rule set."""

from __future__ import annotations

import shlex
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tallystick.cli.command import command, examples
from tallystick.cli.log import tell_refusal
from tallystick.cli.progress import working
from tallystick.cli.shown import show, table_lines, wants_json
from tallystick.errors import RuleSetError

if TYPE_CHECKING:
    from decimal import Decimal

    from tallystick.plugins.registry import Registry
    from tallystick.scoring.result import Result
    from tallystick.scoring.scorer import Scorer

_HEADINGS = ("skill type", "axes", "quality", "tier", "emission")
_MEANINGS = (
    ("axes", "how good an answer is in one respect, each from 0 to 1"),
    ("letters", "{letters}"),
    ("quality", "the weighted axes as one number from 0 to 1, after the gates"),
    ("tier", "the highest threshold that the quality reaches"),
    ("emission", "what the task is worth to its miner: quality times the factors of the rule set"),
    ("–", "the rule set has none, or there was no submission"),
)
"""The legend: what stands in each column."""
_NEXT = (
    "{program} records generate --seed 7 --count 100 --types {types} -o tour.jsonl",
    "{program} score tour.jsonl --rules {rules} -o tour-scores.csv",
    "{program} explain tour.jsonl --rules {rules} --line 1",
)
"""Commands to try next, in this order, in any folder."""


@command(
    epilog=examples(
        "tallystick demo",
    ),
)
def demo() -> None:
    """Score the bundled example records under every installed rule set.

    A legend follows, and commands to try next. The exit status is 1 if a rule set does not
    load; the others are shown.
    """
    from tallystick.plugins.registry import installed
    from tallystick.rules.loading import shipped
    from tallystick.scoring.scorer import load

    registry = installed()
    scorers, refused = list["Scorer"](), dict[str, str]()
    with working("loading"):
        for name in shipped(registry):
            try:
                scorers.append(load(name))
            except RuleSetError as error:
                refused[name] = str(error)
    scored = [(scorer, _results(scorer, registry)) for scorer in scorers]
    rule_sets = [
        {
            "rule_set": scorer.rule_set.reference,
            "digest": scorer.digest,
            "results": [result.to_dict() for result in results],
        }
        for scorer, results in scored
    ]
    lines = [line for scorer, results in scored for line in _lines(scorer, results)]
    if scorers:
        lines += [*_legend(scorers), "", *_next_commands(scorers[-1])]
    show({"rule_sets": rule_sets, "refused": refused}, lines)
    if not wants_json():
        for name, why in refused.items():
            tell_refusal(f"{name}  refused: {why}")
    sys.exit(1 if refused else 0)


def _results(scorer: Scorer, registry: Registry) -> list[Result]:
    """Return the results of the examples of the rule set's types."""
    from tallystick.records.rejects import Reject

    files: dict[Path, None] = dict.fromkeys(
        path for name in scorer.types if (path := registry.skill_types[name].examples) is not None
    )
    lines = [line for path in files for line in path.read_bytes().splitlines()]
    return [r for r in scorer.score_many(lines) if not isinstance(r, Reject)]


def _lines(scorer: Scorer, results: list[Result]) -> list[str]:
    rows = (
        (
            result.skill_type,
            _axes(scorer, result),
            "–" if result.quality is None else f"{result.quality:f}",
            result.tier or "–",
            "–" if result.emission is None else f"{result.emission:f}",
        )
        for result in results
    )
    return [scorer.rule_set.reference, scorer.digest, *table_lines(_HEADINGS, rows), ""]


def _axes(scorer: Scorer, result: Result) -> str:
    axes = scorer.types[result.skill_type].axes
    symbols = {axis.name: axis.symbol or axis.name for axis in axes}
    texts = [f"{symbols[name]} {_short(value)}" for name, value in result.axes.items()]
    return "  ".join(texts) or "no submission"


def _legend(scorers: list[Scorer]) -> list[str]:
    """Return the meaning of each column, with the name of each letter, in alphabetical order."""
    axes = {axis for scorer in scorers for kind in scorer.types.values() for axis in kind.axes}
    # a space that does not break keeps a letter and its name on one line
    names = sorted(f"{axis.symbol}\xa0{axis.name}" for axis in axes if axis.symbol)
    letters = ", ".join(dict.fromkeys(names)) or "none"
    formatter = click.HelpFormatter(width=100)
    formatter.write_dl([(word, meaning.format(letters=letters)) for word, meaning in _MEANINGS])
    return formatter.getvalue().replace("\xa0", " ").splitlines()


def _next_commands(scorer: Scorer) -> list[str]:
    """Return the commands to try next, with the rule set that was shown last."""
    rules, types = scorer.rule_set.reference, ",".join(scorer.types)
    program = shlex.quote(_program())
    commands = [line.format(program=program, types=types, rules=rules) for line in _NEXT]
    return ["try next:", *(f"    {command}" for command in commands)]


def _program() -> str:
    """Return the word that starts this command again: its path where the search path lacks it."""
    started = Path(sys.argv[0])
    if started.name != "tallystick" or shutil.which("tallystick") == str(started):
        return "tallystick"
    return str(started)


def _short(value: Decimal) -> str:
    return f"{value:f}".rstrip("0").rstrip(".") or "0"
