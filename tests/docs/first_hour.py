"""The first hour by ``docs/bittensor.md`` alone: files, edits, words to learn, and its time.

Run as ``python tests/docs/first_hour.py``. In an empty folder it does what the page says, on the
simulated chain, up to the first row; then the same for moving over from a ``state.npz``, which is
written here. Nothing else is written or edited by hand.
"""

import json
import re
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

import numpy as np
from manual.page import Page

from tallystick_chain.simulated.hotkeys import hotkey_of

PAGE = Page.of("docs/bittensor.md")
SECTIONS = {"Ten minutes": "--simulated", "Move over": "--carry"}
"""Sections that are followed, by their headings, with a mark of the block of commands of each."""
BEHIND = {"Ten minutes": "On the chain"}
"""Sections that are read for the same, and need a chain and a key of one's own."""
HOTKEYS = [hotkey_of(name) for name in ("validator", *(f"miner-{n}" for n in range(1, 9)))]
"""The hotkeys of the simulated chain, by uid."""
QUICK = (
    ("simulated.toml", "block_time = 1", "block_time = 0.1"),
    ("validator.toml", "[service]", "[service]\nport = 0"),
)
"""Changes of files for a test: blocks come soon, and any port will do."""


def words(heading: str) -> list[str]:
    """The words of the glossary that a section uses, with the one behind it."""
    glossary = re.findall(r"^\| \*\*([^*,]+)", Page.of("docs/glossary.md").text, re.MULTILINE)
    prose = "".join(PAGE.section(h).text for h in (heading, BEHIND.get(heading, heading)))
    prose = re.sub(r"`[^`]*`|\]\([^)]*\)", "", prose).lower()
    return [word for word in map(str.lower, glossary) if re.search(rf"\b{word}s?\b", prose)]


def commands(heading: str) -> list[str]:
    """The commands of a section, on the simulated chain; what they need is installed."""
    mark = SECTIONS[heading]
    text = next(b.text for b in PAGE.blocks() if b.language == "text" and mark in b.text)
    text = text.replace("sdk11:finney", "simulate:simulated.toml")
    return [line for line in text.splitlines() if not line.startswith("pip ")]


def followed(folder: Path, lines: Iterable[str], stack: ExitStack) -> Iterator[tuple[str, float]]:
    """Do what lines say, and give the seconds of each; what goes on is ended with the stack."""
    for line in lines:
        (name, *rest), began = shlex.split(line.removesuffix("&")), time.monotonic()
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
            elif started.wait():
                raise SystemExit(f"{line}: exit status {started.returncode}")
        yield line, time.monotonic() - began


def first_row(folder: Path) -> tuple[str, float]:
    """Wait for the first row that is set; give the seconds until then."""
    began, health = time.monotonic(), folder / "daemon" / "health.json"
    while not health.exists() or "set" not in {*_rows(health).values()}:
        time.sleep(0.2)
    return "the first row", time.monotonic() - began


def _rows(health: Path) -> Mapping[str, str | None]:
    rows: Mapping[str, str | None] = json.loads(health.read_text())["facts"].get("rows", {})
    return rows


def measured(folder: Path, *, is_fast: bool = False) -> dict[str, list[tuple[str, float]]]:
    """The seconds of each step of both sections; fast ones have quick blocks and any port."""
    (made, *rest), times = commands("Ten minutes"), dict[str, list[tuple[str, float]]]()
    for heading in SECTIONS:
        place = folder / heading
        place.mkdir()
        with ExitStack() as stack:
            steps = times[heading] = [*followed(place, [made], stack)]
            trial = place / "trial"
            for name, before, after in QUICK if is_fast else ():
                file = trial / name
                file.write_text(file.read_text().replace(before, after))
            if heading == "Move over":
                scores = np.linspace(0, 1, len(HOTKEYS), dtype="f4")
                np.savez(trial / "state.npz", step=1, scores=scores, hotkeys=HOTKEYS)
                steps += followed(trial, commands(heading), stack)
            else:
                steps += followed(place, rest, stack)
                steps.append(first_row(trial))
    return times


def main() -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as folder:
        for heading, steps in measured(Path(folder)).items():
            known = words(heading)
            print(f"\n{heading}: {len(known)} words ({', '.join(known)})")
            for step, seconds in steps:
                print(f"{seconds:7.1f} s  {step}")


if __name__ == "__main__":
    main()
