"""Runs the JavaScript of this folder by node."""

import json
import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from needs import tool

from tallystick.canonical import canonical_bytes
from tallystick.plugins.registry import installed
from tallystick.rules.digest import canonical_form
from tallystick.rules.loading import shipped
from tallystick.scoring.scorer import Scorer, load
from tallystick.scoring.trees import trees_of

HERE = Path(__file__).parent

Json = Any


@cache
def shown(reference: str) -> Json:
    """What ``tallystick rules show REFERENCE --json`` prints."""
    return shown_of(load(reference))


def shown_of(scorer: Scorer) -> Json:
    """The same of a rule set that is loaded."""
    form = json.loads(canonical_bytes(canonical_form(scorer.rule_set, scorer.registry)))
    return {"digest": scorer.digest, "canonical": form, **trees_of(scorer)}


@cache
def shipped_rule_sets() -> tuple[str, ...]:
    """Every rule set that ships."""
    return tuple(shipped(installed()))


def node(script: str, asked: Json, *arguments: str) -> Json:
    """What a script answers to JSON on its standard input."""
    command: Sequence[str] = [str(tool("node")), str(HERE / script), *arguments]
    done = subprocess.run(
        command, input=json.dumps(asked), capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
