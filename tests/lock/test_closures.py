"""A lock pins what runs: each file is listed, and one that would run in its place is refused."""

import importlib.util
import json
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from cli.command import run
from consensus.vectors import cases
from lock.tree import Tree
from state.signing import ALICE, BOB, written_root
from state.trusted import FIRST, NEW, OLD, OWN, signed_adoption

from tallystick.lock.installed import everything_installed, pinned_files
from tallystick.resources import folder

ROOT = Path(__file__).resolve().parents[2]
SCORE = (
    *("score", "plugins/tallystick_skills/examples.jsonl", "--rules", "skills@1.1.0"),
    *("-o", "out.jsonl", "--locked"),
)
RULES = [f"{path.parent.name}@{path.stem}" for path in sorted(folder("rules").glob("*/*.toml"))]

# notes each file that is opened, and in the end which modules there are
_WATCH = """
import json, os, sys
opened = set()
def watch(event, arguments):
    if event == "open" and isinstance(arguments[0], (str, bytes, os.PathLike)):
        opened.add(os.path.abspath(os.fsdecode(arguments[0])))
sys.addaudithook(watch)
"""
_TELL = """
modules = {getattr(each, "__file__", None) for each in list(sys.modules.values())}
print(json.dumps(sorted(opened.union(each for each in modules if each))))
"""
_DIFFERENCES = """
import sys
from pathlib import Path
sys.path[:0] = {paths!r}
from tallystick.cli.locked import held_lock
print(*held_lock(Path({root!r}, "tallystick.lock")).differences(), sep="\\n", end="")
"""
_SCORE = """
from pathlib import Path
import tallystick
from tallystick.scoring.facts.run import extract_file
for name in {rules!r}:
    scorer = tallystick.load(name)
    source = Path({folder!r}, scorer.rule_set.rule_set.name + ".jsonl")
    for line in source.read_bytes().splitlines():
        scorer.explain(line)
    for ending in ("jsonl", "csv", "parquet"):
        scorer.score_file(source, "out-" + name + "." + ending)
    extract_file(source, "facts.parquet", scorer.registry)
    scorer.score_file("facts.parquet", "from-facts.jsonl")
"""
_STEP = """
from pathlib import Path
import tallystick
from tallystick_state.authority import Authority
from tallystick_state.ledger import Ledger
from tallystick_state.replay import rebuild
from tallystick_state.transfer import import_state
from tallystick_state.trust.envelope import Envelope
folder = Path({folder!r})
ledger = Ledger.create("state.db", {old!r}, validator={own!r}, trust=folder / "trust.toml")
ledger.sync_miners(folder / "miners.csv")
signed = Envelope.of_json((folder / "adoption.json").read_bytes(), "the test")
ledger.adopt({new!r}, 3, authority=Authority(signed))
ledger.close()
ledger = Ledger.create("open.db", "skills@1.1.0")
ledger.sync_miners(folder / "miners.csv")
ledger.select_group("mcp_server", 0, "seed")
ledger.import_events(folder / "history.jsonl", bad="reject")
ledger.close_epoch(0)
ledger.adopt("skills@1.2.0", 5)
for epoch in range(1, 6):
    ledger.close_epoch(epoch)
with ledger.queries() as queries:
    queries.weights()
    queries.board("mcp_server")
with ledger.scoring() as scorer:
    scorer.score_file(folder / "history.jsonl", "by-state.jsonl")
ledger.verify()
ledger.export("state.jsonl")
ledger.close()
import_state("state.jsonl", "imported.db")
rebuild("imported.db")
for answer in tallystick.consensus((folder / "groups.jsonl").read_bytes().splitlines(), {new!r}):
    pass
tallystick.allocate("workflow@1.1.0", folder / "quality.csv")
"""


def lists() -> ModuleType:
    """Load the script that ``make closures`` runs."""
    spec = importlib.util.spec_from_file_location("closures", ROOT / ".ci" / "closures.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.nightly
def test_the_lists_are_those_that_the_imports_ask_for() -> None:
    program = lists()
    expected = program.lists()
    found = {path: path.read_text(encoding="utf-8") for path in program.written()}
    assert found == expected, "run `make closures`"


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Records, miners, groups of validators and a signed adoption, to score and to step."""
    place = tmp_path_factory.mktemp("inputs")
    plugins = dict.fromkeys(("reward", "king", "ladder"), "reward")
    for name, plugin in {"skills": "skills", "workflow": "workflow", **plugins}.items():
        examples = ROOT / "plugins" / f"tallystick_{plugin}" / "examples.jsonl"
        shutil.copy(examples, place / f"{name}.jsonl")
    found = run(
        *("records", "generate", "--seed", "7", "--count", "400", "--epochs", "1", "--rounds", "2"),
        *("--types", "mcp_server,rag_knowledge"),
        *("-o", place / "history.jsonl", "--miner-list", place / "miners.csv"),
    )
    assert found.status == 0
    groups = [json.dumps(case["group"]) for case in cases("consensus")]
    (place / "groups.jsonl").write_text("\n".join(groups))
    (place / "quality.csv").write_text("hotkey,uid,quality\na,4,0.75\nb,2,0.25\n")
    written_root(place, FIRST).rename(place / "trust.toml")
    (place / "adoption.json").write_bytes(signed_adoption(ALICE, BOB))
    return place


def place_of(path: str) -> Path:
    """Where a path of an installation is here."""
    top, _, name = path.partition("/")
    if name.startswith("_data/"):
        _, kind, name = name.split("/", 2)
        return folder(kind) / name
    return home_of(top) / name


def home_of(package: str) -> Path:
    spec = importlib.util.find_spec(package)
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent


HOMES = (
    *(home_of(path.name) for path in (ROOT / "plugins").glob("tallystick_*")),
    *(home_of("tallystick"), folder("rules"), folder("schemas"), folder("vectors")),
)


def used(program: str, place: Path, inputs: Path) -> set[Path]:
    """The files of the project that a process has as modules, or that it opened."""
    values = {"folder": str(inputs), "rules": RULES, "old": OLD, "new": NEW, "own": OWN}
    text = _WATCH + program.format(**values) + _TELL
    done = subprocess.run(
        [sys.executable, "-c", text], cwd=place, check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    paths = map(Path, json.loads(done.stdout.splitlines()[-1]))
    ours = {path for path in paths if any(path.is_relative_to(home) for home in HOMES)}
    return {path for path in ours if "__pycache__" not in path.parts}


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("closure", "program", "least"), [("scoring", _SCORE, 140), ("state", _STEP, 210)]
)
def test_whatever_is_loaded_or_opened_is_listed(
    tmp_path: Path, inputs: Path, closure: str, program: str, least: int
) -> None:
    listed = {
        place_of(each.path)
        for each in pinned_files(everything_installed())
        if closure in each.closures
    }
    found = used(program, tmp_path, inputs)
    assert len(found) >= least
    assert found - listed == set()


@pytest.mark.nightly
def test_a_shadow_is_refused_by_each_command_that_is_held(tree: Tree) -> None:
    source = tree.root / "engine" / "tallystick" / "numbers" / "nano.py"
    tree.write("engine/tallystick/numbers/nano/__init__.py", source.read_bytes() + b"UNIT = 7\n")
    for command in (SCORE, ("lock", "--check")):
        done = tree.do(*command)
        assert done.returncode == 1
        assert f"the file {source}: found {source.parent}/nano/__init__.py" in done.stderr
    # no receipt can be written, as it would tell another code than that which ran
    done = tree.do(*SCORE[:-1])
    assert done.returncode == 2
    assert (
        f"{source.parent}/nano/__init__.py: found a file that is imported in the place"
        in done.stderr
    )


@pytest.mark.nightly
def test_a_package_of_the_project_from_elsewhere_is_refused(tree: Tree, tmp_path: Path) -> None:
    shutil.copytree(tree.root / "plugins" / "tallystick_skills", tmp_path / "tallystick_skills")
    program = _DIFFERENCES.format(paths=[str(tmp_path), *tree.paths], root=str(tree.root))
    done = tree.python(program)
    beside = tree.root / "plugins" / "tallystick_skills" / "__init__.py"
    what = f"the file {beside}: found {tmp_path}/tallystick_skills/__init__.py"
    assert done.stdout == f"{what}, which is imported in its place, locked the file itself"
