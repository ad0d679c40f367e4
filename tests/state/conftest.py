"""The all_rules of the shipped rule sets, each bound once; a place for a store, of each kind."""

import pytest
from state.databases import database, server, where

import tallystick
from tallystick_state.rules import StateRules, state_rules_of

__all__ = ["database", "server", "where"]
RULE_SETS = (
    *("skills@1.0.0", "skills@1.1.0", "skills@1.2.0"),
    *("workflow@1.0.0", "workflow@1.1.0", "workflow@1.2.0"),
)


@pytest.fixture(scope="session")
def all_rules() -> dict[str, StateRules]:
    return {name: state_rules_of(tallystick.load(name)) for name in RULE_SETS}


@pytest.fixture(scope="session")
def rules(all_rules: dict[str, StateRules]) -> StateRules:
    return all_rules["skills@1.0.0"]
