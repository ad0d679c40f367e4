"""Answers about rules: those in force and scheduled, and whole rule sets with their formulas."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING

from starlette.responses import Response

from tallystick.canonical import canonical_bytes
from tallystick.cli.rule_text import view_of
from tallystick.json_values import JsonObject
from tallystick.rules.digest import canonical_form
from tallystick.scoring.trees import trees_of
from tallystick_service.answer import json_answer
from tallystick_service.answers import RulesAnswer, RuleSetAnswer, RuleSetsAnswer
from tallystick_service.known_rules import known_rules, rules_named
from tallystick_service.route import Question, Route
from tallystick_service.rule_book import scorer_of
from tallystick_state import views

if TYPE_CHECKING:
    from tallystick.scoring.scorer import Scorer


@partial(Route, "/api/v1/rules", "rules", name="rules", of=RulesAnswer)
def _rules(question: Question) -> Response:
    """The rules of each line that held, hold and will hold, and who signed them."""
    queries = question.queries
    return json_answer(views.rules_in_force(queries.in_force, queries.state.epoch))


@partial(Route, "/api/v1/rule-sets", "rules", name="ruleSets", of=RuleSetsAnswer)
def _rule_sets(question: Question) -> Response:
    """The rule sets that the state follows, and those that their plugins ship."""
    in_force = question.queries.in_force
    followed = in_force.rule_sets()
    rows = [
        {
            "name": rules.rule_set.reference,
            "digest": digest,
            "summary": rules.rule_set.rule_set.summary,
            "followed": digest in followed,
        }
        for digest, rules in known_rules(in_force).items()
    ]
    return json_answer({"rule_sets": rows})


@partial(
    Route,
    "/api/v1/rule-sets/{reference}",
    "rules",
    name="ruleSet",
    of=RuleSetAnswer,
    refuses=(404,),
)
def _rule_set(question: Question) -> Response:
    """A rule set: its canonical form, and the trees of its formulas."""
    rules = rules_named(question.queries.in_force, question.text("reference"))
    return json_answer(rule_set_view(scorer_of(question.site, rules)))


def rule_set_view(scorer: Scorer) -> JsonObject:
    """Return a rule set as ``rules show --json`` does: canonical form, trees, sections."""
    form = json.loads(canonical_bytes(canonical_form(scorer.rule_set, scorer.registry)))
    view = {"digest": scorer.digest, "canonical": form, **trees_of(scorer), **view_of(scorer)}
    return dict(view)
