"""The commands ``reviews`` and ``rules reviews``."""

from pathlib import Path

import click

import tallystick
from tallystick.errors import InputError
from tallystick_reviews.draw import drawn
from tallystick_reviews.rules import REVIEWS, Reviews


def _reviews_of(scorer: tallystick.Scorer) -> Reviews:
    reviews = scorer.rule_set.section(REVIEWS)
    if reviews is None:
        raise InputError(
            f"found no [reviews] in {scorer.rule_set.reference}, expected the section: add it"
        )
    return reviews


@click.command
@click.argument("records", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--rules", required=True, metavar="RULES", help="The rule set.")
def reviews(records: Path, rules: str) -> None:
    """Print the tasks of RECORDS that people look at, one a line."""
    scorer = tallystick.load(rules)
    with records.open("rb") as lines:
        for task in drawn(_reviews_of(scorer), scorer.score_many(lines)):
            click.echo(ascii(task)[1:-1])


@click.command
@click.argument("rules")
def shares(rules: str) -> None:
    """Print the share of each skill type of RULES that people look at."""
    scorer = tallystick.load(rules)
    found = _reviews_of(scorer)
    for name in sorted(scorer.rule_set.skill_types):
        click.echo(f"{name}  {found.share_of(name)}")
