"""The first shipped rules; a place for a store, of each kind."""

import pytest
from state.databases import database, server, where
from state.subnet import rules_of

from tallystick_state.rules import StateRules

__all__ = ["database", "server", "where"]


@pytest.fixture(scope="session")
def rules() -> StateRules:
    return rules_of("skills@1.0.0")
