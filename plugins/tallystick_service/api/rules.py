"""Answers about rules: those in force and scheduled, and whole rule sets with their formulas."""

from __future__ import annotations

import json
from functools import lru_cache
from http import HTTPStatus
from typing import TYPE_CHECKING

from tallystick.canonical import canonical_bytes
from tallystick.cli.rule_text import view_of
from tallystick.json_values import JsonObject
from tallystick.plugins.registry import installed
from tallystick.rules.digest import canonical_form
from tallystick.rules.loading import load, shipped
from tallystick.scoring.scorer import bind
from tallystick.scoring.trees import trees_of
from tallystick_service.answer import Answer, RefusedQuestionError, json_answer
from tallystick_service.answers import RulesAnswer, RuleSetAnswer, RuleSetsAnswer
from tallystick_service.route import Parameter, Question, Route
from tallystick_state import views

if TYPE_CHECKING:
    from tallystick.scoring.scorer import Scorer


def _rules(question: Question) -> Answer:
    queries = question.queries
    return json_answer(views.rules_in_force(queries.in_force, queries.state.epoch))


def _rule_sets(question: Question) -> Answer:
    followed = question.queries.in_force.rule_sets()
    rows = {
        rules.digest: {
            "name": rules.rule_set.reference,
            "digest": rules.digest,
            "summary": rules.rule_set.rule_set.summary,
            "followed": True,
        }
        for rules in followed.values()
    }
    for row in _shipped():
        rows.setdefault(row["digest"], {**row, "followed": False})
    return json_answer({"rule_sets": list(rows.values())})


def _rule_set(question: Question) -> Answer:
    return json_answer(rule_set_view(rule_set_of(question, question.text("reference"))))


def rule_set_of(question: Question, reference: str) -> Scorer:
    """Return a rule set that the state follows in some epoch, or one that is shipped.

    Args:
        question: of the state.
        reference: ``name@version``, or the digest.

    Raises:
        RefusedQuestionError: there is none.
    """
    for digest, rules in question.queries.in_force.rule_sets().items():
        if reference in {digest, rules.rule_set.reference}:
            return question.site.scorer_of(rules)
    for row in _shipped():
        if reference in {row["name"], row["digest"]}:
            return shipped_scorer(row["name"])
    raise RefusedQuestionError(
        HTTPStatus.NOT_FOUND,
        "no-such-rule-set",
        f"the rule set {reference[:80]}",
        "name@version or sha256:… of one that is shipped, or that the state follows",
        "see /api/v1/rule-sets",
    )


def rule_set_view(scorer: Scorer) -> JsonObject:
    """Return a rule set as ``rules show --json`` does: canonical form, trees, sections."""
    form = json.loads(canonical_bytes(canonical_form(scorer.rule_set, scorer.registry)))
    view = {"digest": scorer.digest, "canonical": form, **trees_of(scorer), **view_of(scorer)}
    return dict(view)


@lru_cache(maxsize=1)
def _shipped() -> tuple[JsonObject, ...]:
    """Return the rule sets that are shipped, without their places on this machine."""
    registry = installed()
    loaded = [load(name, registry) for name in shipped(registry)]
    return tuple(
        {
            "name": each.rule_set.reference,
            "digest": each.digest,
            "summary": each.rule_set.rule_set.summary,
        }
        for each in loaded
    )


@lru_cache(maxsize=16)
def shipped_scorer(name: str) -> Scorer:
    """Return a rule set that is shipped, bound."""
    registry = installed()
    return bind(load(name, registry), registry)


REFERENCE = Parameter(
    name="reference",
    meaning="name@version or the digest of a rule set",
    example="skills@1.2.0",
    required=True,
)

ROUTES: tuple[Route, ...] = (
    Route(
        path="/api/v1/rules",
        name="rules",
        sentence="The rules of each line that held, hold and will hold, and who signed them.",
        answer=_rules,
        subject="rules",
        of=RulesAnswer,
    ),
    Route(
        path="/api/v1/rule-sets",
        name="ruleSets",
        sentence="The rule sets that the state follows in some epoch, and those that are shipped.",
        answer=_rule_sets,
        subject="rules",
        of=RuleSetsAnswer,
    ),
    Route(
        path="/api/v1/rule-sets/{reference}",
        name="ruleSet",
        sentence="A rule set: its canonical form, and the trees of its formulas.",
        answer=_rule_set,
        subject="rules",
        of=RuleSetAnswer,
        parameters=(REFERENCE,),
        refuses=(404,),
    ),
)
