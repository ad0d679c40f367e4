"""Write which files decide results, as lists that ship with the engine: one for each closure.

``scoring`` has what scores records, ``state`` what steps a state beside it; a plugin and a section
of the project have a list beside their module. A closure is what declared roots import, at once or
late, and the data that they read. What only the type checker sees is left out: it never runs. The
facade is listed and not followed: each of its names is imported when it is asked for, and nothing
of the project asks. So are the functions of a section that prove or show it: no score needs them.
"""

import ast
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path

import tomli

from tallystick.source_code import executed, imported

ROOT = Path(__file__).resolve().parents[1]
HEAD = "# written by `make closures`; .ci/closures.py has the roots\n"

FACADE = "tallystick"
SCORING = (
    "tallystick.plugins.author",
    "tallystick.scoring.executors.cluster",
    "tallystick.scoring.executors.local",
    "tallystick.scoring.facts.results",
    "tallystick.scoring.facts.run",
    "tallystick.scoring.run",
    "tallystick.scoring.scorer",
)
"""Modules whose functions score records and take facts, and all that a plugin imports."""
STATE = (
    "tallystick_allocation.allocation",
    "tallystick_consensus.files",
    "tallystick_consensus.run",
    "tallystick_state.ingest",
    "tallystick_state.ledger",
    "tallystick_state.queries",
    "tallystick_state.miner_list",
)
"""Modules whose functions step a state, or share out what a step gives."""

BY_NAME = ("tallystick.plugins", "tallystick.sections")
"""Groups of entry points that have a list each, as only what a rule set names is imported."""
WITH_SCORING: tuple[str, ...] = ()
"""Groups of which scoring imports every entry point."""
WITH_STATE: tuple[str, ...] = ()
"""Groups of which a state imports every entry point."""
OF_NO_RESULT = ("tallystick.commands", "tallystick.lints")
"""Groups that no result depends on."""


@cache
def modules() -> Mapping[str, Path]:
    """Return the sources of the project, by module."""
    found = {}
    for top in ("engine", "plugins"):
        for path in sorted((ROOT / top).rglob("*.py")):
            parts = path.relative_to(ROOT / top).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def installed(path: Path) -> str:
    """Return the path of a file as it is in an installation."""
    for top in ("engine", "plugins"):
        if path.is_relative_to(ROOT / top):
            return path.relative_to(ROOT / top).as_posix()
    return f"{FACADE}/_data/{path.relative_to(ROOT).as_posix()}"


@cache
def nodes(module: str) -> tuple[ast.AST, ...]:
    """Return all of a source but what only the type checker sees, and what decides no score."""
    unscored = unscored_functions().get(module, frozenset())

    tree = ast.parse(modules()[module].read_text(encoding="utf-8"))
    return tuple(executed(tree, unscored))


def constants(module: str) -> set[str]:
    """Return every text of a source."""
    values = (node.value for node in nodes(module) if isinstance(node, ast.Constant))
    return {value for value in values if isinstance(value, str)}


def patterns(module: str) -> Iterator[str]:
    """Give a regular expression for each text that a source puts together after a constant."""
    for node in nodes(module):
        match node:
            case ast.JoinedStr(values=[ast.Constant(), *_] as values):
                yield "".join(
                    re.escape(each.value) if isinstance(each, ast.Constant) else ".+"
                    for each in values
                )


@cache
def imports(module: str) -> frozenset[str]:
    """Return the modules of the project that a source imports, or names to be imported."""
    found = {value.partition(":")[0] for value in constants(module)}
    for node in nodes(module):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        for _, home, taken in imported(node):
            found.update((home, f"{home}.{taken}"))
    return frozenset(found & modules().keys())


def closure(roots: Iterable[str]) -> set[str]:
    """Return all modules that roots lead to, with the packages that these are in."""
    found, pending = set[str](), list(roots)
    while pending:
        module = pending.pop()
        if module not in modules():
            sys.exit(f"found no module {module}, expected one: change the roots in {__file__}")
        if module not in found:
            found.add(module)
            parent = module.rpartition(".")[0]
            pending += [parent] if parent else []
            pending += [] if module == FACADE else imports(module)
    return found


def files(found: Iterable[str]) -> set[str]:
    """Return the paths of modules and of the schemas that these name."""
    paths = {installed(modules()[module]) for module in found}
    named = {name for module in found for name in constants(module)}
    composed = {pattern for module in found for pattern in patterns(module)}
    for path in (ROOT / "schemas").glob("*.schema.json"):
        name = path.name.removesuffix(".schema.json")
        if name in named or any(re.fullmatch(pattern, name) for pattern in composed):
            paths.add(installed(path))
    return paths


def entry_points(groups: Iterable[str]) -> list[str]:
    """Return what entry points of the project lead to, as ``module`` or ``module:attribute``."""
    project = tomli.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    declared = project["entry-points"]
    known = {*BY_NAME, *WITH_SCORING, *WITH_STATE, *OF_NO_RESULT}
    for group in declared:
        if group.startswith(FACADE) and group not in known:
            sys.exit(f"found the group {group}, expected one of {__file__}: say there who reads it")
    return [value for group in groups for value in declared.get(group, {}).values()]


@cache
def unscored_functions() -> Mapping[str, frozenset[str]]:
    """Return the functions of sections that `rules check` and `rules show` call, by module."""
    found = {}
    for value in entry_points(["tallystick.sections"]):
        name, _, attribute = value.partition(":")
        section = getattr(import_module(name), attribute)
        functions = (getattr(section, field) for field in ("prove", "lines", "view"))
        found[name] = frozenset(each.__name__ for each in functions)
    return found


def schemas_of(value: str) -> set[str]:
    """Return the schemas that a plugin or a section brings; it is imported for that."""
    name, _, attribute = value.partition(":")
    module = import_module(name)
    offered: Callable[[], Iterable[object]] = getattr(module, "tallystick_skill_types", tuple)
    values = [getattr(module, attribute)] if attribute else [*offered()]
    paths = [getattr(each, "schema", None) for each in values]
    # beside the packages that are imported, which need not be those of this checkout
    packages = Path(str(import_module(name.partition(".")[0]).__file__)).resolve().parents[1]
    found = [path.resolve() for path in paths if isinstance(path, Path)]
    return {
        path.relative_to(packages).as_posix() if path.is_relative_to(packages) else installed(path)
        for path in found
    }


def list_of(closure: str) -> Path:
    """Return the file of a list."""
    if closure in modules():
        return modules()[closure].with_suffix(".closure.txt")
    return modules()[FACADE].parent / "closures" / f"{closure}.txt"


def lists() -> dict[Path, str]:
    """Return the text of each list, by its file."""
    scoring = closure([*SCORING, *(each.partition(":")[0] for each in entry_points(WITH_SCORING))])
    state = closure([*STATE, *(each.partition(":")[0] for each in entry_points(WITH_STATE))])
    found = {"scoring": files(scoring), "state": files(state | scoring) - files(scoring)}
    for value in entry_points(BY_NAME):
        module = value.partition(":")[0]
        own = files(closure([module]) | scoring) - files(scoring) | schemas_of(value)
        found[module] = found.get(module, set()) | own
    return {
        (path := list_of(name)): HEAD
        + "".join(f"{line}\n" for line in sorted({*lines, installed(path)}))
        for name, lines in found.items()
    }


def written() -> set[Path]:
    """Return the lists that there are."""
    both = [*ROOT.glob("engine/**/*.closure.txt"), *ROOT.glob("plugins/**/*.closure.txt")]
    return {*both, *list_of("scoring").parent.glob("*")}


def main() -> None:
    """Write the lists, and take away those of modules that are no more."""
    found = lists()
    for path in written() - found.keys():
        path.unlink()
    for path, text in found.items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
