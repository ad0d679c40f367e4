"""A start loads what it needs: a command that asks a state waits for no library of columns."""

import subprocess
import sys
from pathlib import Path

import pytest
from cli.command import HEAVY

import tallystick

QUERIES = (
    ("state", "show", "hk-1"),
    ("state", "board", "rag_knowledge"),
    ("state", "info", "--json"),
    ("weights",),
    ("miner", "register", "hk-2", "--uid", "2", "--types", "rag_knowledge"),
    ("miner", "clear", "hk-1"),
    ("groups", "select", "rag_knowledge", "--round", "1", "--seed", "x"),
)
"""Commands that ask a state, or that change what needs no record and no formula."""


def loaded(program: str) -> set[str]:
    """Return the modules that a program has loaded when it ends."""
    listed = f"import sys\n{program}\nprint('loaded:', *sys.modules)"
    command = [sys.executable, "-c", listed]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return {*done.stdout.splitlines()[-1].split()}


@pytest.mark.process
def test_a_query_of_a_state_loads_nothing_heavy(tmp_path: Path) -> None:
    """But msgspec, which reads events, and what checks the rules of the state."""
    where = str(tmp_path / "state.db")
    with tallystick.Ledger.create(where, "skills@1.1.0") as ledger:
        ledger.register("hk-1", 1, ["rag_knowledge"])
        ledger.close_epoch()
    program = "from tallystick.cli.main import cli\n" + "".join(
        f"cli({[*command, '--state', where]!r}, standalone_mode=False)\n" for command in QUERIES
    )
    needed = {"msgspec", "jsonschema_rs"}
    assert not (HEAVY | {"tallystick.scoring.binding"}) - needed & loaded(program)


@pytest.mark.process
def test_a_lint_loads_no_columns_and_no_simulation() -> None:
    """But the one that compares simulations, and is asked for by its code."""
    program = "from tallystick_governance.lint.linting import report\nreport('skills@1.2.0')"
    assert not {"numpy", "pyarrow", "tallystick_simulation"} & loaded(program)
