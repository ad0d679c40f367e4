"""Rule sets that a service knows: those of its state, and those that the plugins of these ship.

No other plugin is imported, whatever a request names.
"""

from __future__ import annotations

from functools import lru_cache

from tallystick.errors import RuleSetError
from tallystick.plugins.registry import Registry
from tallystick.rules.loading import load, shipped
from tallystick_service.answer import RefusedQuestionError
from tallystick_state.rules import StateRules
from tallystick_state.rules_in_force import RulesInForce


def known_rules(in_force: RulesInForce) -> dict[str, StateRules]:
    """Return the rule sets by digest: those that the state follows in some epoch come first.

    A shipped one that needs a plugin beside those of the state is left out.
    """
    known = dict(in_force.rule_sets())
    for registry in dict.fromkeys(rules.registry for rules in known.values()):
        for rules in _shipped(registry):
            known.setdefault(rules.digest, rules)
    return known


def rules_named(in_force: RulesInForce, name: str) -> StateRules:
    """Return a known rule set by its digest or its reference, first of those of the state.

    Raises:
        RefusedQuestionError: there is none.
    """
    known = known_rules(in_force)
    for rules in known.values():
        if name in {rules.digest, rules.rule_set.reference}:
            return rules
    references = ", ".join(dict.fromkeys(rules.rule_set.reference for rules in known.values()))
    raise RefusedQuestionError(
        "no-such-rule-set",
        f"the rule set {name[:80]}",
        f"a digest, or one of {references}",
        "see /rules, or /api/v1/rule-sets",
    )


@lru_cache(maxsize=16)
def _shipped(registry: Registry) -> tuple[StateRules, ...]:
    found = []
    for reference in shipped(registry):
        try:
            found.append(StateRules(load(reference, registry)))
        except RuleSetError:
            continue
    return tuple(found)
