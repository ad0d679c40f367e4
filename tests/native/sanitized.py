"""The hostile lines of the attack through a build of the native front with the address sanitizer.

Run as ``python tests/native/sanitized.py [LINES]``, which takes cargo and a compiler that has the
sanitizer; ``TALLYSTICK_ATTACK_SEED`` makes other lines. The exit status is 1 where it finds
anything.
"""

import ctypes
import os
import re
import shutil
import subprocess
import sys
import tempfile
from itertools import chain
from pathlib import Path
from types import SimpleNamespace

sys.path.append(str(Path(__file__).resolve().parents[1]))

from attack.hostile_lines import TYPES, mixed  # after the path of the tests
from attack.scale import SEED
from native.mutated_lines import mutated_lines
from packages import ROOT

from tallystick.io.lines import LineBlock
from tallystick.plugins.registry import installed
from tallystick.scoring.facts.catalog import catalog_of
from tallystick.scoring.facts.extraction import every_fact

PROJECT, TARGETS = ROOT / "engine" / "native", ROOT / "build" / "native"
LINES = 20_000


def found_program(name: str) -> str:
    """The path of a program, or its name where there is none."""
    return shutil.which(name) or name


def compiler(option: str, pattern: str) -> str:
    """Return what a pattern finds in the answer of the compiler to an option."""
    command = (found_program("rustc"), *option.split())
    told = subprocess.run(command, check=True, capture_output=True, text=True)
    (found,) = re.findall(pattern, told.stdout, re.MULTILINE)
    return str(found)


def sanitizer() -> Path | None:
    """The sanitizer of the compiler, if it has one."""
    libraries = Path(compiler("--print sysroot", "(.+)"), "lib", "rustlib")
    return next(libraries.glob(f"{compiler('-vV', '^host: (.+)')}/lib/*_rt.asan.a"), None)


def program() -> tuple[bytes, bytes]:
    """The program of all facts of all skill types: its words, and its texts."""
    taken: list[tuple[bytes, bytes]] = []

    def new(words: int, count: int, texts: bytes, length: int) -> None:
        taken.append((ctypes.string_at(words, 8 * count), texts[:length]))

    # a library that takes a program and makes nothing of it
    library = SimpleNamespace(tallystick_native_new=new)
    front = SimpleNamespace(library=lambda: library)
    every_fact(catalog_of(installed()), front).facts(LineBlock(b"{}\n"))  # type: ignore[arg-type]  # as above
    (made,) = taken
    return made


def hostile_lines(count: int) -> bytes:
    """Lines of the attack of each rule set, and as many records with one to three changes."""
    attack = (mixed(f"{name} {SEED} sanitizer", count // 4, TYPES[name]).data for name in TYPES)
    changed = (line + b"\n" for line in mutated_lines(SEED, count // 2))
    return b"".join(chain(attack, changed))


def replayed(count: int) -> subprocess.CompletedProcess[str]:
    """Build with the sanitizer, replay some hostile lines, and return how that ended."""
    target = compiler("-vV", "^host: (.+)")
    options = ("--offline", "--locked", "--quiet", "--example", "replay", "--target", target)
    # the sanitizer is of the compiler that is there, which says so of its next versions alone
    unstable = {"RUSTC_BOOTSTRAP": "1", "RUSTFLAGS": "-Zsanitizer=address"}
    # faster, and overflows are still looked for
    optimised = {"CARGO_PROFILE_DEV_OPT_LEVEL": "2"}
    surroundings = {**os.environ, **unstable, **optimised, "CARGO_TARGET_DIR": str(TARGETS)}
    building = (found_program("cargo"), "build", *options)
    subprocess.run(building, cwd=PROJECT, env=surroundings, check=True)
    words, texts = program()
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder, name) for name in ("words", "texts", "lines")]
        for file, data in zip(files, (words, texts, hostile_lines(count)), strict=True):
            file.write_bytes(data)
        command = (TARGETS / target / "debug" / "examples" / "replay", *files)
        return subprocess.run(command, check=False, capture_output=True, text=True)


def main() -> None:
    """Print what came of each way to cut the lines into blocks, and what the sanitizer found."""
    done = replayed(int((*sys.argv[1:], LINES)[0]))
    sys.stdout.write(done.stdout + done.stderr)
    sys.exit(done.returncode != 0)


if __name__ == "__main__":
    main()
