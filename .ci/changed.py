"""Print the tests of what changed since the main branch, one path a line, for `make check`.

A change is what differs from the merge base with the main branch, committed or not, and files that
git does not know yet. A module leads to the tests that import it, and to those of its package that
are named after it, these first; where there are none, to the tests of the modules that import it,
or of its package. A file of rules, schemas or docs leads to the folder of its tests. `ALWAYS` is
tested with all of them. Of a module that many tests use, the nearest are taken; a line on standard
error counts the others.
"""

import argparse
import ast
import subprocess
import sys
from collections.abc import Iterable, Iterator
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TESTS = ROOT / "tests"
sys.path.append(str(TESTS))

from project.house import SOURCES, imports, module_name, paths_of

ALWAYS = ("tests/project", "tests/test_layers.py")
"""Tests of the whole project, each fast."""
FOLDERS = {
    "docs/*": ("tests/docs",),
    "README.md": ("tests/docs",),
    "rules/*": ("tests/rules",),
    "schemas/*": ("tests/rules", "tests/records"),
    "plugins/*.json": ("tests/rules",),
    "tests/vectors/*": ("tests/vectors",),
    "tests/frozen/*": ("tests/frozen",),
    "tests/conftest.py": ("tests/io",),
}
"""Tests of files that are no modules, by the pattern of their paths."""
MOST = 30
"""Maximum number of files of tests that modules lead to; some two minutes on two cores."""


def git(*arguments: str) -> list[str]:
    """Return the lines that a command of git prints; none where it fails."""
    command = ["git", "-C", str(ROOT), *arguments]
    return subprocess.run(command, check=False, capture_output=True, text=True).stdout.splitlines()


def changed_files(main: Iterable[str]) -> list[str]:
    """Return the paths that differ from the merge base with the first of these branches."""
    bases = (line for branch in main for line in git("merge-base", "HEAD", branch))
    changed = git("diff", "--name-only", next(bases, "HEAD"))
    return sorted({*changed, *git("ls-files", "--others", "--exclude-standard")})


def home_of(module: str) -> str:
    """Return the folder of the tests of a module: its plugin's, or its part's of the core."""
    package, *inner = module.split(".")
    return f"tests/{package.removeprefix('tallystick_') if '_' in package else inner[0]}/"


@cache
def text_of(path: str) -> str:
    """Return the text of a file of the checkout."""
    return (ROOT / path).read_text(encoding="utf-8")


@cache
def modules() -> frozenset[str]:
    """Return the names of the modules of the project and of its tests."""
    helpers = (".".join(Path(path).with_suffix("").parts[1:]) for path in paths_of(TESTS))
    return frozenset([*map(module_name, paths_of(*SOURCES)), *helpers])


@cache
def used_by(path: str) -> frozenset[str]:
    """Return the modules that a file imports or names in a string."""
    return frozenset(imports(ast.parse(text_of(path)), modules()))


def uses(path: str, module: str) -> bool:
    """Return whether a file imports a module or names it in a string."""
    # parsing all files takes seconds, and most have not even the last part of the name
    return module.rpartition(".")[2] in text_of(path) and module in used_by(path)


def tests_of_module(module: str, tests: Iterable[str]) -> list[str]:
    """Return the files of tests that import a module, those of its own folder and name first."""
    home, stem = home_of(module), module.rpartition(".")[2]
    ranks = {}
    for path in tests:
        is_near = path.startswith(home)
        is_namesake = is_near and Path(path).name.startswith(f"test_{stem}")
        if is_namesake or uses(path, module):
            ranks[path] = (not is_namesake, not is_near, path)
    return sorted(ranks, key=lambda path: ranks[path])


def tests_of(changed: Iterable[str]) -> Iterator[str]:
    """Yield the folders and files of the tests of changed files, in the order of the changes."""
    project = paths_of(*SOURCES)
    files = paths_of(TESTS)
    named = [path for path in files if Path(path).name.startswith("test_")]
    tests = [path for path in named if not path.startswith(ALWAYS)]
    for path in changed:
        for pattern, folders in FOLDERS.items():
            yield from folders if fnmatch(path, pattern) else ()
        if path in project and "." in (module := module_name(path)):
            users = [module_name(user) for user in project if uses(user, module)]
            near = tests_of_module(module, tests)
            near = near or [test for user in users for test in tests_of_module(user, tests)]
            yield from near or [home_of(module)]
        elif path in tests:
            yield path
        elif path in files:
            helper = ".".join(Path(path).with_suffix("").parts[1:])
            yield from (test for test in tests if uses(test, helper))


def chosen(changed: Iterable[str]) -> list[str]:
    """Return the tests of changed files, after those that always run."""
    near = [path for path in dict.fromkeys(tests_of(changed)) if path not in ALWAYS]
    if len(near) > MOST:
        left = len(near) - MOST
        sys.stderr.write(f"{left} further files of tests use what changed: `make test` runs them\n")
    return [*ALWAYS, *near[:MOST]]


def main() -> None:
    """Print the tests, those that always run first."""
    parser = argparse.ArgumentParser(description="Print the tests of what changed.")
    parser.add_argument("--base", help="branch or commit to compare with, else the main branch")
    parser.add_argument("paths", nargs="*", help="changed files, else those that git names")
    arguments = parser.parse_args()
    main_branches = [arguments.base] if arguments.base else ["origin/main", "main", "origin/master"]
    paths = chosen(arguments.paths or changed_files(main_branches))
    sys.stdout.write("".join(f"{path}\n" for path in paths))


if __name__ == "__main__":
    main()
