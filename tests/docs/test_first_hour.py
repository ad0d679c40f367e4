"""The first hour of an operator goes as ``docs/bittensor.md`` says.

In an empty folder the page is followed on the simulated chain up to the first row, and then for
moving over from a ``state.npz``, which is written here. Nothing else is written or edited by hand.
"""

import json
import shlex
import subprocess
import sys
import time
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest
from manual.page import Page

from tallystick_chain.simulated.hotkeys import hotkey_of
from tallystick_state.ledger import Ledger

PAGE = Page.of("docs/bittensor.md")
SECTIONS = {"Ten minutes": "--simulated", "Move over": "--carry"}
"""Sections that are followed, by their headings, with a mark of the block of commands of each."""
HOTKEYS = [hotkey_of(name) for name in ("validator", *(f"miner-{n}" for n in range(1, 9)))]
"""The hotkeys of the simulated chain, by uid."""
QUICK = (
    ("simulated.toml", "block_time = 1", "block_time = 0.1"),
    ("validator.toml", "[service]", "[service]\nport = 0"),
)
"""Changes of files: blocks come soon, and any port will do."""


def commands(heading: str) -> list[str]:
    """The commands of a section, on the simulated chain; what they need is installed."""
    mark = SECTIONS[heading]
    text = next(b.text for b in PAGE.blocks() if b.language == "text" and mark in b.text)
    text = text.replace("sdk11:finney", "simulate:simulated.toml")
    return [line for line in text.splitlines() if not line.startswith("pip ")]


def follow(folder: Path, lines: Iterable[str], stack: ExitStack) -> None:
    """Do what lines say; what goes on is ended with the stack."""
    for line in lines:
        name, *rest = shlex.split(line.removesuffix("&"))
        if name == "cd":
            folder /= rest[0]
        elif name == "rm":
            (folder / rest[0]).unlink()
        else:
            program = [sys.executable, *(["-m", name] if name == "tallystick" else []), *rest]
            started = subprocess.Popen(program, cwd=folder, stderr=subprocess.DEVNULL)
            stack.callback(started.wait)
            if rest[0] in {"run", "feed.py"}:
                stack.callback(started.terminate)
            else:
                assert started.wait() == 0, line


def begun(folder: Path, stack: ExitStack) -> tuple[Path, list[str]]:
    """Make the validator of the page, whose blocks come soon; give the commands that follow."""
    made, *rest = commands("Ten minutes")
    follow(folder, [made], stack)
    for name, before, after in QUICK:
        file = folder / "trial" / name
        file.write_text(file.read_text().replace(before, after))
    return folder / "trial", rest


def has_row(health: Path) -> bool:
    """Whether a daemon says that it has set a row."""
    facts = json.loads(health.read_text())["facts"] if health.exists() else {}
    return "set" in facts.get("rows", {}).values()


@pytest.mark.process
def test_the_commands_of_the_page_lead_to_a_row(tmp_path: Path) -> None:
    with ExitStack() as stack:
        trial, rest = begun(tmp_path, stack)
        follow(tmp_path, rest, stack)
        while not has_row(trial / "daemon" / "health.json"):
            time.sleep(0.2)


@pytest.mark.process
def test_the_commands_of_the_page_carry_averages_over(tmp_path: Path) -> None:
    with ExitStack() as stack:
        trial, _ = begun(tmp_path, stack)
        scores = np.linspace(0, 1, len(HOTKEYS), dtype="f4")
        np.savez(trial / "state.npz", step=1, scores=scores, hotkeys=HOTKEYS)
        follow(trial, commands("Move over"), stack)
    with Ledger.open(trial / "subnet.db") as ledger, ledger.queries() as queries:
        assert len(queries.miners()) == 8
