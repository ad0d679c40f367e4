"""Imports run one way, modules stay small, and a start is light.

The sources are parsed, not imported: an import that only the type checker sees, or that a function
runs late, is an import all the same. So is a module that a string names, to be loaded when it is
asked for. What only the type checker sees may go in circles inside a package, as nothing runs it.
"""

import ast
import re
import subprocess
import sys
from collections.abc import Collection, Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import tallystick

ROOT = Path(__file__).resolve().parents[1]
ENGINE = ROOT / "engine"
PLUGINS = ROOT / "plugins"
TESTS = ROOT / "tests"

LAYERS = (
    ("diagnostics",),
    ("errors", "extras"),
    ("canonical", "resources"),
    ("io",),
    ("numbers",),
    ("formula",),
    ("plugins",),
    ("rules", "records"),
    ("scoring",),
    ("population",),
    ("trust", "lock"),
    ("state", "testing"),
    ("audit",),
    ("conformance",),
    ("governance",),
    ("views",),
    ("cli",),
)
"""From the lowest: a part imports itself and what is below it, never a part beside it."""
FACADE = ("tallystick", "tallystick.__main__")
"""What stands on top: it imports from everywhere, and nothing imports it."""
FOR_PLUGINS = ("tallystick.plugins.author", "tallystick.resources")
"""All that a plugin of the tree needs of the engine, as anyone's does."""
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

_MODULE_NAME = re.compile(r"(tallystick(?:\.\w+)+)(?::\w+)?")


def sources(folder: Path) -> list[Path]:
    found = sorted(folder.rglob("*.py"))
    assert found, f"{folder} holds no source"
    return found


def module_of(path: Path, folder: Path) -> str:
    parts = path.relative_to(folder).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports(text: str) -> Iterator[str]:
    """Every module that the source imports or names, wherever in the source that stands."""
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Import(names=names):
                yield from (each.name for each in names)
            case ast.ImportFrom(module=module, names=names, level=level):
                assert not level, f"a relative import hides its layer: line {node.lineno}"
                yield from _imported_from(module or "", [each.name for each in names])
            case ast.Constant(value=str(value)) if named := _MODULE_NAME.fullmatch(value):
                yield named[1]


def _imported_from(module: str, names: list[str]) -> Iterator[str]:
    """``from tallystick import formula`` imports the package of that name."""
    if module == "tallystick":
        yield from (f"tallystick.{name}" for name in names)
    else:
        yield module


def part_of(module: str) -> str:
    return module.split(".")[1]


def height(part: str) -> int:
    """The level of a part, from 0; what is no part comes from the facade, above them all."""
    return next((level for level, parts in enumerate(LAYERS) if part in parts), len(LAYERS))


def wrong_way(module: str, imported: str) -> bool:
    """Whether a module of the engine imports what it must not."""
    top, _, rest = imported.partition(".")
    if top != "tallystick":
        return top.startswith("tallystick")
    if not rest:
        return True
    here, there = part_of(module), part_of(imported)
    return here != there and height(there) >= height(here)


def test_the_engine_imports_downwards() -> None:
    found = [
        f"{module} imports {imported}, which is above or beside it"
        for path in sources(ENGINE)
        if (module := module_of(path, ENGINE)) not in FACADE
        for imported in sorted({*imports(path.read_text())})
        if wrong_way(module, imported)
    ]
    assert found == []


def test_a_plugin_imports_the_authors_interface_alone() -> None:
    found = [
        f"{path.relative_to(PLUGINS)} imports {imported}"
        for path in sources(PLUGINS)
        for imported in imports(path.read_text())
        if not for_a_plugin(path.relative_to(PLUGINS).parts[0], imported)
    ]
    assert found == []


def for_a_plugin(package: str, imported: str) -> bool:
    top = imported.partition(".")[0]
    return imported in FOR_PLUGINS or top == package or top in sys.stdlib_module_names


def test_every_part_of_the_engine_has_its_layer() -> None:
    modules = (module_of(path, ENGINE) for path in sources(ENGINE))
    parts = {part_of(module) for module in modules if module not in FACADE}
    assert parts == {part for layer in LAYERS for part in layer}


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
        ("tallystick.cli.main", "import tallystick_skills.detection"),
        ("tallystick.cli.main", "import tallystick"),
        ("tallystick.cli.main", "from tallystick import load"),
        ("tallystick.canonical", "import tallystick.resources"),
    ],
)
def test_an_import_that_runs_upwards_is_seen(module: str, source: str) -> None:
    assert any(wrong_way(module, imported) for imported in imports(source))


def runtime_imports(text: str, modules: Collection[str]) -> Iterator[str]:
    """Every one of some modules that the source imports when it runs, early or late."""

    def walk(node: ast.AST) -> Iterator[str]:
        match node:
            case ast.If(test=ast.Name(id="TYPE_CHECKING"), orelse=orelse):
                for each in orelse:
                    yield from walk(each)
                return
            case ast.Import(names=names):
                yield from (each.name for each in names)
            case ast.ImportFrom(module=str(module), names=names):
                # of a package, a module in it or what the package itself holds
                inner = (f"{module}.{each.name}" for each in names)
                yield from (name if name in modules else module for name in inner)
        for child in ast.iter_child_nodes(node):
            yield from walk(child)

    return (name for name in walk(ast.parse(text)) if name in modules)


def circle(texts: Mapping[str, str]) -> list[str]:
    """Modules of which each imports the one before it, the first the last; none if there are none.

    Args:
        texts: the sources, by module.
    """
    graph = {
        module: {name for name in runtime_imports(text, texts) if name != module}
        for module, text in texts.items()
    }
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_no_modules_of_the_engine_import_each_other_in_a_circle() -> None:
    texts = {module_of(path, ENGINE): path.read_text() for path in sources(ENGINE)}
    found = circle({name: text for name, text in texts.items() if name not in FACADE})
    assert not found, f"found the circle {' ← '.join(found)}"


@pytest.mark.parametrize(
    ("first", "second", "is_circle"),
    [
        ("from tallystick.io.lines import Splitter", "import tallystick.io.chunks", True),
        ("def late():\n    from tallystick.io import lines", "import tallystick.io.chunks", True),
        (
            "if TYPE_CHECKING:\n    from tallystick.io import lines\nelse:\n    x = 1",
            "import tallystick.io.chunks",
            False,
        ),
        ("from tallystick.io.lines import Splitter", "import zlib", False),
    ],
)
def test_a_circle_is_seen(first: str, second: str, is_circle: bool) -> None:
    texts = {"tallystick.io.chunks": first, "tallystick.io.lines": second}
    assert bool(circle(texts)) == is_circle


def test_the_folders_engine_and_plugins_are_never_imported() -> None:
    for path in [*sources(ENGINE), *sources(PLUGINS), *sources(TESTS)]:
        text = path.read_text()
        if re.search(r"import.*\b(engine|plugins)\b|\bfrom\s+(engine|plugins)\b", text):
            tops = {imported.partition(".")[0] for imported in imports(text)}
            assert not tops & {"engine", "plugins"}, path


def test_a_module_is_as_large_as_its_noun_and_no_larger() -> None:
    lengths = {
        str(path.relative_to(ROOT)): len(path.read_text().splitlines())
        for path in [*sources(ENGINE), *sources(PLUGINS)]
    }
    assert {path: length for path, length in lengths.items() if length > LONGEST} == {}


def test_a_module_is_named_after_what_it_holds() -> None:
    for path in [*sources(ENGINE), *sources(PLUGINS), *sources(TESTS)]:
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
