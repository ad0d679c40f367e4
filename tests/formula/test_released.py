"""A formula that is released never changes: a change is a new version.

``released.json`` of each shipped plugin holds the digest of each of its formulas, as anyone can
compute it. A new formula is added there once; no line there ever changes or goes.
"""

from __future__ import annotations

import json

from packages import PACKAGES, folder_of

from tallystick.plugins.registry import installed


def test_released_formulas_are_as_they_were_and_all_there() -> None:
    files = (folder_of(package) / "released.json" for package in PACKAGES)
    lists = [json.loads(file.read_bytes())["formulas"] for file in files if file.is_file()]
    assert [list(each) for each in lists] == [sorted(each) for each in lists]
    released = {name: digest for each in lists for name, digest in each.items()}
    plugins = installed().plugins.values()
    formulas = [formula for plugin in plugins for formula in plugin.formulas]
    assert {formula.name: formula.digest for formula in formulas} == released
