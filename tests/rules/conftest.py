from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tallystick.diagnostics import Diagnostic
from tallystick.errors import RuleSetError
from tallystick.plugins.registry import Registry, installed
from tallystick.resources import folder
from tallystick.rules.reading import read

Problems = Callable[[str], tuple[Diagnostic, ...]]


@pytest.fixture(scope="session")
def registry() -> Registry:
    return installed()


@pytest.fixture(scope="session")
def shipped_text() -> Callable[[str], str]:
    def text(reference: str) -> str:
        name, _, version = reference.partition("@")
        return (folder("rules") / name / f"{version}.toml").read_text(encoding="utf-8")

    return text


@pytest.fixture
def problems_of(tmp_path: Path, registry: Registry) -> Problems:
    """What is wrong with the text of a rule-set file; nothing when it loads."""

    def problems(text: str, known: Registry = registry) -> tuple[Diagnostic, ...]:
        path = tmp_path / "rules.toml"
        path.write_text(text, encoding="utf-8")
        try:
            read(path, known)
        except RuleSetError as error:
            return error.problems
        return ()

    return problems
