"""A changed byte of whatever results are made with is refused, and named."""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import attrs
import pytest

ROOT = Path(__file__).resolve().parents[2]
COPIED = ("engine", "plugins", "rules", "schemas", "tests/vectors/rows.json")
_START = """
import sys
sys.path[:0] = {paths!r}
from tallystick.cli.main import main
import tallystick, tallystick_skills
assert tallystick.__file__.startswith({root!r}) and tallystick_skills.__file__.startswith({root!r})
sys.argv = {arguments!r}
main()
"""
# changes one byte of every file after the other, with the modules of the engine loaded before
_EVERY = """
import sys
from pathlib import Path
sys.path[:0] = {paths!r}
from tallystick.lock import check
from tallystick.lock.lock_file import read
from tallystick.plugins.code import engine_files, plugin_files
lock = read(Path({lock!r}))
for path in map(Path, {files!r}):
    data = path.read_bytes()
    path.write_bytes(data[:-2] + bytes([data[-2] ^ 1]) + data[-1:] if data[1:] else b"x" + data)
    engine_files.cache_clear(); plugin_files.cache_clear()
    print(path, [each.what for each in check.differences(lock, Path({root!r}))], sep="\\t")
    path.write_bytes(data)
"""


@attrs.frozen
class Tree:
    """A copy of the project.

    Attributes:
        root: where it is.
        replaced: what files were before they were changed.
    """

    root: Path
    replaced: dict[Path, bytes] = attrs.field(factory=dict)

    def do(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        program = _START.format(
            paths=[str(self.root / name) for name in ("engine", "plugins")],
            root=str(self.root),
            arguments=["tallystick", *arguments],
        )
        return self.python(program)

    def python(self, program: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-B", "-c", program],
            cwd=self.root,
            check=False,
            capture_output=True,
            text=True,
        )

    def replace(self, name: str, old: str, new: str) -> None:
        path = self.root / name
        text = path.read_text(encoding="utf-8")
        self.replaced[path] = path.read_bytes()
        assert text.count(old) >= 1
        path.write_text(text.replace(old, new, 1), encoding="utf-8")


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Tree:
    """A tree with a lock of a shipped rule set and of one in a file."""
    tree = Tree(tmp_path_factory.mktemp("tree"))
    for name in COPIED:
        place = tree.root / name
        place.parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, place)
        else:
            shutil.copy(ROOT / name, place)
    shutil.copy(ROOT / "rules" / "workflow" / "1.1.0.toml", tree.root / "mine.toml")
    done = tree.do("lock", "--rules", "skills@1.1.0", "--rules", "mine.toml")
    assert (done.returncode, done.stderr) == (0, "")
    return tree


@pytest.fixture
def tree(original: Tree) -> Iterator[Tree]:
    """The tree, in which a test may replace what is put back at its end."""
    yield original
    while original.replaced:
        path, data = original.replaced.popitem()
        path.write_bytes(data)


CHANGES = {
    "an engine module": (
        ("engine/tallystick/numbers/nano.py", '"""', '"""\n# a comment\n'),
        "the file numbers/nano.py of the engine",
        ["every formula, requirement, schema and rule set means what is locked"],
    ),
    "a formula": (
        (
            "plugins/tallystick_skills/detection.py",
            "p.too_strict * distance / 2",
            "p.too_strict * distance / 3",
        ),
        "the file detection.py of the plugin skills",
        ["the formula skills/detection@2", "the meaning of the rule set skills@1.1.0"],
    ),
    "a schema": (
        ("schemas/record-1.schema.json", '"maxLength": 4096', '"maxLength": 4095'),
        "the file _data/schemas/record-1.schema.json of the engine",
        ["the schema of agent_composition"],
    ),
    "a rule that ships": (
        ("rules/skills/1.1.0.toml", "0.35", "0.36"),
        "the file _data/rules/skills/1.1.0.toml of the engine",
        ["the meaning of the rule set skills@1.1.0"],
    ),
    "a rule in a file": (
        ("mine.toml", "[rule_set]", "[rule_set]\n# a comment"),
        "the rule set workflow@1.1.0 in mine.toml",
        ["every formula, requirement, schema and rule set means what is locked"],
    ),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_changed_byte_is_refused_by_name(tree: Tree, name: str) -> None:
    change, named, means = CHANGES[name]
    tree.replace(*change)
    done = tree.do("lock", "--check", "--json")
    told = json.loads(done.stdout)
    assert done.returncode == 1
    assert (told["error"], told["code"]) == ("LockError", "lock-differs")
    assert [each["what"] for each in told["differences"]] == [named]
    for each in means:
        assert any(line.startswith(each) for line in told["meaning"]), told["meaning"]
    assert named in done.stderr


def test_nothing_changed_is_equal(original: Tree) -> None:
    done = original.do("lock", "--check")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.slow
def test_a_changed_byte_of_any_file_is_named(tree: Tree) -> None:
    """Of each of the files, some 400, in one process that has loaded what it needs."""
    files = [
        path
        for name in COPIED
        for path in sorted([tree.root / name, *(tree.root / name).rglob("*")])
        if path.is_file() and "__pycache__" not in path.parts and "tallystick_" not in name
    ]
    done = tree.python(
        _EVERY.format(
            paths=[str(tree.root / name) for name in ("engine", "plugins")],
            lock=str(tree.root / "tallystick.lock"),
            root=str(tree.root),
            files=[str(path) for path in files],
        )
    )
    assert (done.returncode, done.stderr) == (0, "")
    lines = [line.split("\t") for line in done.stdout.splitlines()]
    assert len(lines) == len(files) > 300
    for path, told in lines:
        stem = Path(path).name if "rows.json" not in path else "the vectors"
        assert stem in told, (path, told)
