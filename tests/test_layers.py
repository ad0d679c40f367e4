"""Imports run one way and in no circle, the core names no floor, and a start is light.

The sources are parsed, not imported: an import that only the type checker sees, or that a function
runs late, is an import all the same. So is a module that a string names, to be loaded when it is
asked for.
"""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest
from packages import CORE, FLOORS, PACKAGES, ROOT, SKILL_TYPES, module_of, sources
from project.house import imported, imports

import tallystick

TESTS = ROOT / "tests"
THIRD_PARTY = TESTS / "third_party"

LAYERS = (
    ("diagnostics",),
    ("errors", "extras"),
    ("canonical", "resources"),
    ("io",),
    ("numbers",),
    ("json_values",),
    ("formula",),
    ("plugins",),
    ("rules", "records"),
    ("scoring",),
    ("lock",),
    ("cli",),
)
"""Of the core, from the lowest: a part imports itself and what is below it, never one beside it."""
FACADE = ("tallystick", "tallystick.__main__")
"""Above everything: it imports from everywhere, and nothing imports it."""
STABLE = ("tallystick.plugins.author", "tallystick.resources")
"""The modules of the core that the plugins of skill types import, as anyone's do."""
FOR_FLOORS: Mapping[str, tuple[str, ...]] = {
    "tallystick": (
        "canonical",
        "diagnostics",
        "errors",
        "extras",
        "json_values",
    ),
    "tallystick.cli": (
        "command",
        "explanation",
        "locked",
        "log",
        "options",
        "plugin_options",
        "progress",
        "rule_text",
        "settings",
        "shown",
    ),
    "tallystick.formula": (
        "balls",
        "columns",
        "domain",
        "evaluate",
        "facts",
        "formula",
        "lowering",
        "mathml",
        "polynomial",
        "program",
        "schema_path",
        "smt",
        "text",
        "tree",
    ),
    "tallystick.formula.facts": (
        "draft",
        "extraction_code",
        "fact",
        "families",
        "reader",
    ),
    "tallystick.io": (
        "atomic",
        "chunks",
        "csv_table",
        "documents",
        "inputs",
        "json_schema",
        "lines",
        "parquet",
        "paths",
        "sources",
        "streams",
        "text",
    ),
    "tallystick.numbers": (
        "nano",
        "ratio",
        "real",
        "statistics",
        "text",
        "weights",
    ),
    "tallystick.plugins": (
        "commands",
        "entries",
        "generator",
        "logger",
        "property",
        "registry",
        "skill_type",
        "strategy",
    ),
    "tallystick.records": (
        "decoding",
        "defects",
        "extraction",
        "identity",
        "messages",
        "rejects",
        "schema",
        "strict_json",
        "struct_builder",
        "validator",
    ),
    "tallystick.rules": (
        "compatibility",
        "digest",
        "edit",
        "findings",
        "formula_references",
        "keys",
        "loading",
        "model",
        "reading",
        "schema",
        "section",
        "section_lookup",
        "settable",
        "structure",
        "timeline",
        "toml",
        "toml_source",
    ),
    "tallystick.scoring": (
        "batch",
        "binding",
        "bound",
        "bound_rules",
        "compiled",
        "composite",
        "computation",
        "explanation",
        "lint",
        "planner",
        "receipt",
        "result",
        "scorer",
        "scores",
        "sources",
        "threshold_snapshots",
        "tiers",
        "trees",
        "value",
    ),
    "tallystick.scoring.executors": (
        "executor",
        "portable",
    ),
    "tallystick.scoring.facts": (
        "batch",
        "catalog",
        "extraction",
        "file",
        "isolation",
        "results",
        "run",
        "source",
    ),
}
"""The modules of the core that floors of ours import beside those; a stranger's floor may not."""
LONGEST = 700
JUNK_DRAWERS = ("common", "helper", "helpers", "manager", "managers", "misc", "util", "utils")
HEAVY = (
    "jinja2",
    "jsonschema",
    "jsonschema_rs",
    "msgspec",
    "numpy",
    "pyarrow",
    "rich",
    "sqlalchemy",
    "alembic",
    "z3",
    "cryptography",
    "sr25519",
)

MODULES = {module_of(path): path for package in PACKAGES for path in sources(package)}
"""The file of each module of the project."""


def top_of(module: str) -> str:
    return module.partition(".")[0]


def edges(package: str) -> Iterator[tuple[str, str]]:
    """Each module of a package with each that it imports or names, both of the project."""
    for path in sources(package):
        module = module_of(path)
        for name in sorted({*imports(ast.parse(path.read_text()), MODULES)}):
            if top_of(name).startswith(CORE):
                yield module, name


def part_of(module: str) -> str:
    return module.split(".")[1]


def height(part: str) -> int:
    """The level of a part of the core, from 0; the facade is above them all."""
    return next((level for level, parts in enumerate(LAYERS) if part in parts), len(LAYERS))


def wrong_way(module: str, imported: str) -> bool:
    """Whether a module of the project imports what it must not."""
    if module in FACADE:
        return False
    if imported in FACADE:
        return True
    here, there = top_of(module), top_of(imported)
    if here == CORE:
        return there != CORE or _upwards(part_of(module), part_of(imported))
    if here in FLOORS and there in FLOORS:
        return FLOORS.index(there) > FLOORS.index(here)
    if there == CORE:
        return imported not in STABLE and (here in SKILL_TYPES or not is_for_floors(imported))
    return here != there


def _upwards(here: str, there: str) -> bool:
    return here != there and height(there) >= height(here)


def is_for_floors(module: str) -> bool:
    package, _, name = module.rpartition(".")
    return name in FOR_FLOORS.get(package, ())


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_imports_what_stands_below_it(package: str) -> None:
    found = [
        f"{module} imports {name}, which it must not"
        for module, name in edges(package)
        if wrong_way(module, name)
    ]
    assert found == []


def test_every_module_that_floors_may_import_is_imported_by_one() -> None:
    used = {name for floor in FLOORS for _, name in edges(floor) if top_of(name) == CORE}
    listed = {f"{package}.{name}" for package, names in FOR_FLOORS.items() for name in names}
    assert sorted(listed - used) == []
    assert not listed & {*STABLE}
    assert {*MODULES} >= listed


def test_the_modules_that_floors_may_import_are_sorted() -> None:
    assert list(FOR_FLOORS) == sorted(FOR_FLOORS)
    for names in FOR_FLOORS.values():
        assert list(names) == sorted(names)


def test_no_text_of_the_core_names_a_floor() -> None:
    """Nor one that is put together of parts, or given to another process."""
    named = re.compile(rf"\b(?:{'|'.join((*FLOORS, *SKILL_TYPES))})\b")
    found = {
        (module_of(path), match)
        for path in sources(CORE)
        if module_of(path) not in FACADE
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        for match in named.findall(node.value)
    }
    assert sorted(found) == []


def test_every_part_of_the_core_has_its_layer() -> None:
    parts = {part_of(name) for name in MODULES if top_of(name) == CORE and name not in FACADE}
    assert parts == {part for layer in LAYERS for part in layer}


@pytest.mark.parametrize("package", [path.name for path in THIRD_PARTY.glob("tallystick-*")])
def test_a_package_of_a_stranger_imports_what_is_stable(package: str) -> None:
    page = (ROOT / "docs" / "api.md").read_text()
    for path in (THIRD_PARTY / package).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            for name in imported(node, MODULES):
                if name in MODULES and name not in {CORE, *STABLE}:
                    assert isinstance(node, ast.ImportFrom), path
                    for each in node.names:
                        listed = rf":: {re.escape(name)}(\.{each.name})?$"
                        assert re.search(listed, page, re.MULTILINE), (path, name, each.name)


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("tallystick.numbers.nano", "from tallystick.formula.tree import Node"),
        ("tallystick.numbers.nano", "from tallystick import formula"),
        ("tallystick.rules.model", "import tallystick.records.struct_builder"),
        (
            "tallystick.records.struct_builder",
            "def late():\n    from tallystick.rules.model import RuleSet",
        ),
        (
            "tallystick.records.struct_builder",
            "if TYPE_CHECKING:\n    import tallystick.scoring.scorer",
        ),
        ("tallystick.scoring.scorer", "import_module('tallystick.cli.main')"),
        ("tallystick.scoring.scorer", "HOME = 'tallystick.cli.main:cli'"),
        ("tallystick.scoring.scorer", "HOME = 'tallystick_state.ledger:Ledger'"),
        ("tallystick.scoring.scorer", "if TYPE_CHECKING:\n    import tallystick_state.ledger"),
        ("tallystick.cli.main", "import tallystick_skills.axes"),
        ("tallystick.cli.main", "import tallystick"),
        ("tallystick.cli.main", "from tallystick import load"),
        ("tallystick.canonical", "import tallystick.resources"),
        ("tallystick_allocation.step", "from tallystick_state import ledger"),
        ("tallystick_yuma.epoch", "from tallystick_consensus.group import GroupConsensus"),
        ("tallystick_state.ledger", "from tallystick_skills.plugin import SKILL_TYPES"),
        ("tallystick_state.ledger", "from tallystick import Ledger"),
        ("tallystick_state.ledger", "from tallystick.cli import main"),
        ("tallystick_skills.plugin", "from tallystick.formula.tree import Node"),
        ("tallystick_skills.plugin", "import tallystick_workflow.plugin"),
    ],
)
def test_an_import_that_runs_the_wrong_way_is_seen(module: str, source: str) -> None:
    assert any(wrong_way(module, name) for name in imports(ast.parse(source), MODULES))


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("tallystick", "HOME = 'tallystick_state.ledger:Ledger'"),
        ("tallystick.plugins.entries", "GROUP = 'tallystick.commands'"),
        ("tallystick_governance.shadow", "import tallystick_state.ledger"),
        ("tallystick_state.ledger", "from tallystick.errors import StateError"),
        ("tallystick_skills.plugin", "from tallystick.plugins.author import Node"),
    ],
)
def test_what_is_allowed_is_let_by(module: str, source: str) -> None:
    assert not any(wrong_way(module, name) for name in imports(ast.parse(source), MODULES))


def circle(texts: Mapping[str, str]) -> list[str]:
    """Modules of which each imports the one before it, the first the last; none if there are none.

    Args:
        texts: the sources, by module.
    """
    graph = {
        module: {
            name
            for node in ast.walk(ast.parse(text))
            for name in imported(node, texts)
            if name in texts and name != module
        }
        for module, text in texts.items()
    }
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


@pytest.mark.parametrize("package", PACKAGES)
def test_no_modules_of_a_package_import_each_other_in_a_circle(package: str) -> None:
    """Those for types alone included."""
    texts = {module_of(path): path.read_text() for path in sources(package)}
    found = circle({name: texts[name] for name in texts if name not in FACADE})
    assert not found, f"found the circle {' ← '.join(found)}"


@pytest.mark.parametrize(
    ("first", "second", "is_circle"),
    [
        ("from tallystick.io.lines import Splitter", "import tallystick.io.chunks", True),
        ("def late():\n    from tallystick.io import lines", "import tallystick.io.chunks", True),
        (
            "if TYPE_CHECKING:\n    from tallystick.io import lines\nelse:\n    x = 1",
            "import tallystick.io.chunks",
            True,
        ),
        ("from tallystick.io.lines import Splitter", "import zlib", False),
    ],
)
def test_a_circle_is_seen(first: str, second: str, is_circle: bool) -> None:
    texts = {"tallystick.io.chunks": first, "tallystick.io.lines": second}
    assert bool(circle(texts)) == is_circle


def test_the_folders_engine_and_plugins_are_never_imported() -> None:
    for path in [*MODULES.values(), *TESTS.rglob("*.py")]:
        text = path.read_text()
        if re.search(r"import.*\b(engine|plugins)\b|\bfrom\s+(engine|plugins)\b", text):
            assert not {top_of(name) for name in imports(ast.parse(text), MODULES)} & {
                "engine",
                "plugins",
            }, path


def test_a_module_is_as_large_as_its_noun_and_no_larger() -> None:
    lengths = {
        str(path.relative_to(ROOT)): len(path.read_text().splitlines()) for path in MODULES.values()
    }
    longest = {path: length for path, length in lengths.items() if length > LONGEST}
    assert longest == {}, f"expected at most {LONGEST} lines: give a noun of it its own module"


def test_a_module_is_named_after_what_it_holds() -> None:
    for path in [*MODULES.values(), *TESTS.rglob("*.py")]:
        folders = path.relative_to(ROOT).parent.parts
        assert not {path.stem.strip("_"), *folders} & set(JUNK_DRAWERS), path


@pytest.mark.parametrize(
    "start",
    [
        "import tallystick",
        "from tallystick.cli.main import cli; cli(['--help'], standalone_mode=False)",
        "from tallystick.cli.main import cli; cli(['--version'], standalone_mode=False)",
    ],
)
def test_a_start_loads_nothing_heavy(start: str) -> None:
    assert _loaded(start, HEAVY) == []


QUERIES = (
    ("state", "show", "hk-1"),
    ("state", "board", "rag_knowledge"),
    ("state", "digest", "--json"),
    ("weights",),
    ("miner", "register", "hk-2", "--uid", "2", "--types", "rag_knowledge"),
    ("miner", "clear", "hk-1"),
    ("groups", "select", "rag_knowledge", "--round", "1", "--seed", "x"),
)
"""Commands that ask a state, or that change what needs no record and no formula."""
UNASKED = (*(name for name in HEAVY if name != "msgspec"), "tallystick.scoring.binding")
"""What they do without; events are read by msgspec, which is light by itself."""


@pytest.fixture(scope="module")
def where(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A state with one miner, a round and an epoch that is closed."""
    path = tmp_path_factory.mktemp("state") / "state.db"
    with tallystick.Ledger.create(str(path), "skills@1.1.0") as ledger:
        ledger.register("hk-1", 1, ["rag_knowledge"])
        ledger.close_epoch()
    return path


@pytest.mark.parametrize("command", QUERIES, ids=" ".join)
def test_a_query_of_a_state_loads_nothing_heavy(where: Path, command: tuple[str, ...]) -> None:
    arguments = [*command, "--state", str(where)]
    start = f"from tallystick.cli.main import cli; cli({arguments!r}, standalone_mode=False)"
    assert _loaded(start, UNASKED) == []


def _loaded(start: str, names: tuple[str, ...]) -> list[str]:
    """Which of some modules a program has loaded when it ends."""
    loaded = f"[name for name in {names!r} if name in sys.modules]"
    program = f"import sys\n{start}\nprint('loaded:', *{loaded})"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return done.stdout.splitlines()[-1].split()[1:]
