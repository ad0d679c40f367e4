"""States that begin under rules, made once and copied; and their scorers, bound once."""

import tempfile
from functools import cache
from pathlib import Path

import tallystick
from tallystick.scoring.scorer import Scorer
from tallystick_state.ledger import Ledger


@cache
def _begun(rules: str) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "state.db"
        Ledger.create(path, rules).close()
        return path.read_bytes()


@cache
def scorer_of(rules: str) -> Scorer:
    """Return the scorer of rules, bound once: that takes longer than the rest of most tests."""
    return tallystick.load(rules)


def begun(path: Path, rules: str) -> Path:
    """Write a state that begins under rules."""
    path.write_bytes(_begun(rules))
    return path


def opened(path: Path, rules: str) -> Ledger:
    """Return such a state, opened, with its scorer."""
    ledger = Ledger.open(begun(path, rules))
    ledger.scorer = scorer_of(rules)
    return ledger
