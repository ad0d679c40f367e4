"""``tallystick demo``: the bundled examples of every skill type under every rule set."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from tallystick.cli.command import examples
from tallystick.cli.log import tell_refusal
from tallystick.cli.options import as_json
from tallystick.cli.progress import working
from tallystick.cli.shown import print_json, print_table
from tallystick.errors import RuleSetError

if TYPE_CHECKING:
    from decimal import Decimal
    from pathlib import Path

    from tallystick.plugins.registry import Registry
    from tallystick.scoring.result import Result
    from tallystick.scoring.scorer import Scorer

_COLUMNS = (
    *(("skill type", False), ("axes", False)),
    *(("quality", True), ("tier", False), ("emission", True)),
)
"""The heading of each column, and whether it holds numbers."""


@click.command(
    epilog=examples(
        "tallystick demo",
    ),
)
@as_json
def demo(as_json: bool) -> None:
    """Score the bundled example records under every installed rule set.

    The exit status is 1 if a rule set does not load; the others are shown.
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
    if as_json:
        views = [_plain(scorer, registry) for scorer in scorers]
        print_json({"rule_sets": views, "refused": refused})
    else:
        for scorer in scorers:
            _show(scorer, registry)
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


def _plain(scorer: Scorer, registry: Registry) -> dict[str, Any]:
    return {
        "rule_set": scorer.rule_set.reference,
        "digest": scorer.digest,
        "results": [result.to_dict() for result in _results(scorer, registry)],
    }


def _show(scorer: Scorer, registry: Registry) -> None:
    rows = []
    for result in _results(scorer, registry):
        emission = "–" if result.emission is None else f"{result.emission:f}"
        quality = "–" if result.quality is None else f"{result.quality:f}"
        axes = _axes(scorer, result)
        rows.append((result.skill_type, axes, quality, result.tier or "–", emission))
    print_table(f"{scorer.rule_set.reference}\n{scorer.digest}", _COLUMNS, rows)


def _axes(scorer: Scorer, result: Result) -> str:
    axes = scorer.types[result.skill_type].axes
    symbols = {axis.name: axis.formula.symbol or axis.name for axis in axes}
    texts = [f"{symbols[name]} {_short(value)}" for name, value in result.axes.items()]
    return "  ".join(texts) or "no submission"


def _short(value: Decimal) -> str:
    return f"{value:f}".rstrip("0").rstrip(".") or "0"
