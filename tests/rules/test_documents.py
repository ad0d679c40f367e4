"""Every number and every mode of the shipped rule sets says where it comes from.

What they say is frozen with their digests (`tests/frozen`), and the oracle scores by the documents;
the windows are documentation, which no digest covers.
"""

from __future__ import annotations

import re
from collections.abc import Callable

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


REFERENCES = [f"{name}@{version}" for name in ("skills", "workflow") for version in EVERY]
SOURCE = re.compile(r"# .*(scoring\.txt|reputation\.txt|workflow\.txt|\bterms\b|\bE\d+)")


def after_header(text: str) -> list[str]:
    """What is computed with: what the linter is to accept comes last, and says why itself."""
    lines = text[text.index("\n[axes.") + 1 :].splitlines()
    end = next((n for n, line in enumerate(lines) if line.endswith("- lint")), len(lines))
    return lines[:end]


@pytest.mark.parametrize("reference", REFERENCES)
def test_every_number_and_every_mode_says_where_it_comes_from(
    reference: str, shipped_text: Callable[[str], str]
) -> None:
    before = ""
    for line in after_header(shipped_text(reference)):
        value = re.match(r"[a-z_.]+ = (.*)", line)
        named = re.match(r'(name|from|formula) = "', line)
        if value and not named:
            assert SOURCE.search(line) or SOURCE.match(before), line
        before = line


def test_the_corrected_rule_set_cites_a_row_for_every_difference(
    shipped_text: Callable[[str], str],
) -> None:
    for name in ("skills", "workflow"):
        published = set(shipped_text(f"{name}@1.0.0").splitlines())
        corrected = after_header(shipped_text(f"{name}@1.1.0"))
        table = ""
        for line in corrected:
            table = line if line.startswith("[") else table
            if line and line not in published and not line.startswith("["):
                assert re.search(r"# .*\bE\d+", line) or re.search(r"# .*\bE\d+", table), line
