"""``tallystick rules diff``: the difference of two rule sets, before the vote."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import attrs
import click

from tallystick.cli.command import command, examples
from tallystick.cli.log import complain
from tallystick.cli.options import markdown_option
from tallystick.cli.progress import working
from tallystick.cli.shown import print_json, print_text, wants_json
from tallystick.json_values import json_value
from tallystick_governance.cli.moved_weight import moved_weight

if TYPE_CHECKING:
    from tallystick.scoring.scorer import Scorer
    from tallystick_governance.adoption_effect import AdoptionEffect


@command(
    "diff",
    epilog=examples(
        "tallystick rules diff skills@1.2.0 mine.toml --check",
        "tallystick rules diff skills@1.1.0 skills@1.2.0 --markdown",
        "tallystick rules diff skills@1.1.0 skills@1.2.0 --state subnet.db",
    ),
)
@click.argument("old", metavar="OLD")
@click.argument("new", metavar="NEW")
@markdown_option
@click.option(
    "--check", is_flag=True, help="Exit with 1 if NEW raises its version less than it has to."
)
@click.option(
    "--state",
    "where",
    metavar="STATE",
    help="Also report the effect of adopting NEW on a state whose rules are OLD.",
)
def diff_command(old: str, new: str, markdown: bool, check: bool, where: str | None) -> None:
    """Compare OLD and NEW: values, formulas, types, and the effect on a score.

    The intervals contain every change that a score can have. The versioning policy decides which
    part of the version the change has to raise. The exit status is 1 when a value differs
    that no bound is known for because of its kind.

    With --state, the bounds are those of its thresholds as they are; and what share of weight
    changes hands among made-up miners who begin in that state, who would enter and leave each pool,
    whose ejection is made or lifted, which thresholds jump, and whose records of the last epoch
    reach another tier.
    """
    from tallystick.scoring.scorer import load
    from tallystick_governance import adoption_text
    from tallystick_governance.diff import render
    from tallystick_governance.diff.difference import difference

    if wants_json() and markdown:
        raise click.UsageError("found --json and --markdown, expected one of them")
    with working("comparing"):
        before, after = load(old), load(new)
        effect = None if where is None else _effect(where, before, after)
        if effect is None:
            result = difference(before, after)
        else:
            result = difference(before, after, effect.bounds, effect.epoch)
    if wants_json():
        more = {} if effect is None else {"state": json_value(effect)}
        print_json({**render.as_json(result), **more})
    else:
        print_text(render.as_markdown(result) if markdown else render.as_text(result))
        if effect is not None:
            of_state = adoption_text.as_markdown if markdown else adoption_text.as_text
            print_text(of_state(effect))
    if check and not result.is_enough:
        complain(
            f"found {result.new} after {result.old}, expected a {result.needed} version: "
            "raise it as docs/versioning.md says"
        )
        sys.exit(1)
    if result.unknown:
        complain("; ".join(map(str, result.unknown)))
        sys.exit(1)


def _effect(where: str, old: Scorer, new: Scorer) -> AdoptionEffect:
    from tallystick_governance.adoption_effect import effect_on
    from tallystick_state.ledger import Ledger
    from tallystick_state.rules import state_rules_of

    with Ledger.open(where) as ledger, ledger.queries() as queries:
        effect = effect_on(queries, old.digest, state_rules_of(new))
        state = queries.state
    return attrs.evolve(effect, weight=moved_weight(old, new, state))
