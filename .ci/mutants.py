"""Plant mistakes in the product, and count those that the tests of a family find.

The mistakes are drawn by the operators of mutmut with a stated seed over the modules that a family
of tests covers; each is written into a copy of the checkout, whose tests must then fail. What
survives is printed with its lines: a test is missing, or the change means the same. Messages and
docstrings are left out.

    python .ci/mutants.py                      every family, twenty mistakes each
    python .ci/mutants.py decoding --count 5   one family
"""

import argparse
import difflib
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from mutmut.mutation.file_mutation import create_mutations, deep_replace

ROOT = Path(__file__).resolve().parents[1]
FAMILIES: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "decoding": (("engine/tallystick/records/*.py",), ("tests/records", "tests/vectors")),
    "files": (("engine/tallystick/io/*.py",), ("tests/io",)),
    "formulas": (("engine/tallystick/formula/*.py",), ("tests/formula", "tests/vectors")),
    "numbers": (("engine/tallystick/numbers/*.py",), ("tests/numbers",)),
    "rules": (("engine/tallystick/rules/*.py",), ("tests/rules",)),
    "scoring": (("engine/tallystick/scoring/*.py",), ("tests/scoring", "tests/vectors")),
    "allocation": (
        ("plugins/tallystick_allocation/*.py", "plugins/tallystick_allocation/steps/*.py"),
        ("tests/allocation",),
    ),
    "consensus": (("plugins/tallystick_consensus/*.py",), ("tests/consensus",)),
    "yuma": (("plugins/tallystick_yuma/*.py",), ("tests/yuma",)),
    "state": (("plugins/tallystick_state/*.py",), ("tests/state", "tests/vectors")),
    "store": (("plugins/tallystick_state/store/*.py",), ("tests/state",)),
    "trust": (("plugins/tallystick_state/trust/*.py",), ("tests/trust",)),
    "audit": (("plugins/tallystick_state/audit/*.py",), ("tests/audit",)),
    "lint": (("plugins/tallystick_governance/lint/*.py",), ("tests/governance/lint",)),
    "diff": (("plugins/tallystick_governance/diff/*.py",), ("tests/governance/diff",)),
    "service": (("plugins/tallystick_service/*.py",), ("tests/service",)),
    "chain": (("plugins/tallystick_chain/**/*.py",), ("tests/chain",)),
    "validator": (("plugins/tallystick_validator/**/*.py",), ("tests/validator",)),
}
"""Modules of the product, as patterns of paths, and the tests that hold their laws."""
WORDS = ('"""', "raise ", "Error(", "message")
"""Parts of lines that people read: a changed letter there breaks no law."""
SECONDS = 1200
"""Longest run of a family; a mistake that hangs the tests is found."""


def mutants(paths: Sequence[Path], seed: int) -> Iterator[tuple[Path, str, list[str]]]:
    """Yield changed modules in an order that the seed decides: path, new text, changed lines."""
    drawn = []
    for path in paths:
        text = path.read_text("utf-8")
        module, mutations, *_ = create_mutations(str(path), text)
        drawn += [(path, text, module, mutation) for mutation in mutations]
    random.Random(seed).shuffle(drawn)  # noqa: S311  # needs no cryptography
    for path, text, module, mutation in drawn:
        changed = deep_replace(module, mutation.original_node, mutation.mutated_node).code
        difference = difflib.unified_diff(text.split("\n"), changed.split("\n"), n=0, lineterm="")
        lines = [line for line in difference if line[0] in "+-" and line[1:2] not in "+-"]
        if lines and not any(word in line for line in lines for word in WORDS):
            yield path, changed, lines


def survives(checkout: Path, tests: Sequence[str]) -> bool:
    """Return whether the fast tests pass in a checkout."""
    paths = os.pathsep.join(str(checkout / folder) for folder in ("engine", "plugins"))
    options = ("-x", "-q", "-p", "no:randomly", "-p", "no:cacheprovider")
    command = (sys.executable, "-m", "pytest", *options, *tests)
    try:
        run = subprocess.run(
            command,
            check=False,
            capture_output=True,
            timeout=SECONDS,
            cwd=checkout,
            env=os.environ | {"PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1"},
        )
    except subprocess.TimeoutExpired:
        return False
    return run.returncode == 0


def main() -> int:
    """Print a row a family; return 1 where a family fails without a mistake."""
    parser = argparse.ArgumentParser(description="Count the planted mistakes that tests find.")
    parser.add_argument("families", nargs="*", help=f"of {', '.join(FAMILIES)}; else all")
    parser.add_argument("--count", type=int, default=20, help="mistakes of each family")
    parser.add_argument("--seed", type=int, default=35)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        checkout = Path(folder) / "checkout"
        ignored = shutil.ignore_patterns(
            ".git", ".venv*", "build", "dist", "__pycache__", ".*_cache"
        )
        shutil.copytree(ROOT, checkout, ignore=ignored)
        for family in arguments.families or FAMILIES:
            patterns, tests = FAMILIES[family]
            if not survives(checkout, tests):
                print(f"{family}: its tests fail without a mistake")
                return 1
            found = mutants(
                sorted(p for each in patterns for p in checkout.glob(each)), arguments.seed
            )
            killed = 0
            for number, (path, changed, lines) in enumerate(found, start=1):
                text = path.read_text("utf-8")
                path.write_text(changed, "utf-8")
                alive = survives(checkout, tests)
                path.write_text(text, "utf-8")
                killed += not alive
                if alive:
                    print(f"  survived: {path.relative_to(checkout)}", *lines, sep="\n    ")
                if number == arguments.count:
                    break
            print(f"{family}: found {killed} of {number}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
