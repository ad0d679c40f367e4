"""States that begin under rules, made once and copied; and their scorers, bound once."""

import tempfile
from functools import cache
from pathlib import Path

from tallystick_state.ledger import Ledger


@cache
def _begun(rules: str) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "state.db"
        Ledger.create(path, rules).close()
        return path.read_bytes()


def begun(path: Path, rules: str) -> Path:
    """Write a state that begins under rules."""
    path.write_bytes(_begun(rules))
    return path


def opened(path: Path, rules: str) -> Ledger:
    """Return such a state, opened."""
    return Ledger.open(begun(path, rules))
