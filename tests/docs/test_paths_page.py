"""``docs/paths.md`` names modules that exist, at most a dozen for each path."""

import re

from packages import ENGINE, PLUGINS, ROOT

PAGE = (ROOT / "docs" / "paths.md").read_text()
MODULE = re.compile(r"`([a-z_]+(?:/[a-z_]+)*\.py)`")
MOST = 12


def paths() -> dict[str, list[str]]:
    """The modules in the table of each path, by its heading."""
    sections = PAGE.split("\n## ")[1:]
    tables = {
        text.partition("\n")[0]: [row for row in text.splitlines() if row.startswith("| `")]
        for text in sections
    }
    found = {n: [m for row in rows for m in MODULE.findall(row)] for n, rows in tables.items()}
    return {name: modules for name, modules in found.items() if name != "How much there is"}


def test_every_module_exists() -> None:
    folders = (ENGINE / "tallystick", PLUGINS)
    missing = [m for m in MODULE.findall(PAGE) if not any((f / m).is_file() for f in folders)]
    assert missing == []


def test_a_path_has_at_most_a_dozen_modules() -> None:
    lengths = {name: len(modules) for name, modules in paths().items()}
    assert list(lengths) == [
        "A record",
        "A rule set",
        "A round",
        "An adoption",
        "A candidate",
        "A population",
        "A group",
        "An epoch of the chain",
    ]
    assert all(1 < length <= MOST for length in lengths.values()), lengths
