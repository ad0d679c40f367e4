"""The pages about rules: what is in force and scheduled, one rule set, and what two differ in."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from starlette.responses import Response

from tallystick.json_values import json_value
from tallystick_governance.diff.difference import RuleSetDifference
from tallystick_governance.diff.render import verdict
from tallystick_service.known_rules import known_rules, rules_named
from tallystick_service.route import Parameter, Question, Route
from tallystick_service.rule_book import (
    constants_of,
    proofs_name,
    proofs_of,
    rule_book,
    rules_difference,
)
from tallystick_service.tables import csv_answer
from tallystick_state import views
from tallystick_state.rules import StateRules


@partial(Route, "/rules", "rules")
def _rules(question: Question) -> Response:
    """The rules in force and scheduled."""
    queries = question.queries
    epoch = queries.state.epoch
    in_force = queries.in_force
    lines = views.rules_in_force(in_force, epoch)
    books = {
        name: rule_book(question.site, timeline.at(epoch))
        for name, timeline in queries.in_force.lines.items()
    }
    known = known_rules(in_force)
    return question.page("rules.html", in_force=lines, books=books, known=_choices(known))


def _choices(known: Mapping[str, StateRules]) -> list[tuple[str, str]]:
    return [(digest, rules.rule_set.reference) for digest, rules in known.items()]


@partial(
    Route,
    "/rules/diff",
    "rules",
    query=(
        Parameter(name="old", meaning="the digest or the reference of the old rule set"),
        Parameter(name="new", meaning="the digest or the reference of the new one"),
    ),
)
def _difference(question: Question) -> Response:
    """The differences of two rule sets, and what they can do to a score."""
    in_force = question.queries.in_force
    known = _choices(known_rules(in_force))
    old, new = question.text("old"), question.text("new")
    if not old or not new:
        return question.page("rules_diff.html", known=known, old=old, new=new, found=None)
    first, second = rules_named(in_force, old), rules_named(in_force, new)
    found = rules_difference(question.site, first, second)
    return question.page(
        "rules_diff.html",
        known=known,
        old=first.digest,
        new=second.digest,
        found=found,
        verdict=verdict(found),
        effects=effect_rows(found),
    )


@partial(Route, "/rules/{reference}", "rules")
def _rule_set(question: Question) -> Response:
    """One rule set: formulas, constants with sources, lint, proofs."""
    queries = question.queries
    rules = rules_named(queries.in_force, question.text("reference"))
    book = rule_book(question.site, rules)
    return question.page(
        "rule_set.html",
        book=book,
        proofs=proofs_of(question.site.settings.proofs, rules.digest),
        proofs_name=proofs_name(rules.digest),
        known=_choices(known_rules(queries.in_force)),
    )


@partial(Route, "/rules/{reference}/constants.csv", "rules")
def _constants_csv(question: Question) -> Response:
    """The constants of one rule set with their sources, as CSV."""
    rules = rules_named(question.queries.in_force, question.text("reference"))
    heads = ("path", "value", "range", "meaning", "source", "line")
    constants = constants_of(rules.loaded)
    rows = [(c.path, c.value, c.range, c.meaning, c.source, c.line) for c in constants]
    return csv_answer("constants.csv", heads, rows)


def effect_rows(found: RuleSetDifference) -> list[tuple[str, str, str | None, str | None]]:
    """Return the bounds of each value that can move: type, value, at least, at most."""
    rows = []
    for effect in found.effects:
        value = json_value(effect)
        bounds = {**value["axes"], **value.get("measures", {}), **value.get("others", {})}
        if value["quality"] is not None:
            bounds["quality"] = value["quality"]
        if value["emission"] is not None:
            bounds["emission"] = value["emission"]
        for name, ends in bounds.items():
            if {ends["at_least"], ends["at_most"]} != {_ZERO}:
                rows.append((effect.skill_type, name, ends["at_least"], ends["at_most"]))
    return rows


_ZERO = "0.000000000"
