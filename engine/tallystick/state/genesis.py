"""Genesis: the rule set that a state was begun with, kept in the first entry of its log."""

from __future__ import annotations

import json
from pathlib import Path

from tallystick.errors import DamagedError
from tallystick.plugins.registry import Registry, installed
from tallystick.rules.reading import read_text
from tallystick.scoring.scorer import Scorer, bind
from tallystick.state.chain import Entry

GENESIS = "genesis"
"""The kind of the first entry."""


def scorer_of(genesis: Entry | None, where: str, registry: Registry | None = None) -> Scorer:
    """The bound rule set of a first entry.

    Args:
        genesis: the first entry of the log, if it has one.
        where: the store, for errors.
        registry: the plugins; by default the installed ones.

    Raises:
        DamagedError: the entry is none that begins a log, or the installed plugins give the rule
            set another meaning than it had.
        RuleSetError: the rule set does not load with the installed plugins.
    """
    if genesis is None or genesis.kind != GENESIS:
        kind = "nothing" if genesis is None else genesis.kind
        raise DamagedError(
            f"{where}: found a log that begins with {kind}, expected {GENESIS}: restore a copy"
        )
    try:
        said = json.loads(genesis.body)["rule_set"]
        text, name, digest = said["text"], said["reference"], said["digest"]
    except (ValueError, KeyError, TypeError):
        raise DamagedError(
            f"{where}: found a first entry without a rule set, expected one: restore a copy"
        ) from None
    found = registry or installed()
    scorer = bind(read_text(text, Path(f"{where}#{name}"), found), found)
    if scorer.digest != digest:
        raise DamagedError(
            f"{where}: found that {name} means {scorer.digest} with the installed "
            f"plugins, expected {digest}: install the plugins that the state began with"
        )
    return scorer
