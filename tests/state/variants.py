"""Variants of shipped rule sets, as files."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import tomlkit

ROOT = Path(__file__).resolve().parents[2]
Change = Callable[[Any], object]
"""Changes the document of a rule set in place."""


def variant(folder: Path, reference: str, version: str, *changes: Change) -> Path:
    """The file of a rule set that is a shipped one with a version of its own and some changes."""
    name, _, of = reference.partition("@")
    document: Any = tomlkit.parse((ROOT / "rules" / name / f"{of}.toml").read_text("utf-8"))
    document["rule_set"]["version"] = version
    for change in changes:
        change(document)
    path = folder / f"{document['rule_set']['name']}-{version}.toml"
    path.write_text(tomlkit.dumps(document), encoding="utf-8")
    return path


def without_type(name: str) -> Change:
    """Without a skill type."""

    def change(document: Any) -> None:  # noqa: ANN401  # a table of any keys
        for section in ("skill_types", "windows"):
            if name in document[section]:
                document[section].remove(name)

    return change


def put(value: object, *path: str | int) -> Change:
    """With a value at a path."""

    def change(document: Any) -> None:  # noqa: ANN401  # a table of any keys
        for key in path[:-1]:
            document = document[key]
        document[path[-1]] = value

    return change
