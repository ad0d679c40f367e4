"""The windows of the shipped rule sets are documentation, which no digest covers."""

from __future__ import annotations

import attrs
import pytest

from tallystick.plugins.registry import Registry
from tallystick.rules.loading import load
from tallystick_state.sections.windows import WINDOWS

EVERY = ("1.0.0", "1.1.0", "1.2.0")
# the table of auditor windows, in seconds
AUDITOR_WINDOWS = {
    "rag_knowledge": (2, 15),
    "declarative": (3, 30),
    "executable_python": (10, 90),
    "executable_script": (10, 90),
    "mcp_server": (20, 150),
    "agent_composition": (30, 240),
}


@pytest.mark.parametrize("version", EVERY)
def test_the_windows_are_those_of_auditors_alone(version: str, registry: Registry) -> None:
    windows = load(f"skills@{version}", registry).rule_set.section(WINDOWS)
    assert windows is not None
    assert {
        name: {role: attrs.astuple(window) for role, window in roles.items()}
        for name, roles in windows.of_types.items()
    } == {name: {"auditor": bounds} for name, bounds in AUDITOR_WINDOWS.items()}
