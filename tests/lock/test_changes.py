"""A changed byte of whatever decides results is refused, and named; no other byte is."""

import json
from pathlib import Path

import pytest
from lock.tree import Tree

# changes a byte of the files of one group after the other, with the modules of the check loaded
_EVERY = """
import json, sys
from pathlib import Path
sys.path[:0] = {paths!r}
from tallystick.lock.check import HeldLock
from tallystick.lock.lock_file import read
from tallystick.plugins import code
known = {{}}
{before}
root = Path({root!r})
lock = read(root / "tallystick.lock")
def refused():
    code.closure_files.cache_clear()
    return any(True for _ in HeldLock(root / "tallystick.lock", lock).differences())
assert not refused()
for group in {groups!r}:
    before = {{path: path.read_bytes() for path in map(root.joinpath, group)}}
    for path, data in before.items():
        path.write_bytes(data[:-2] + bytes([data[-2] ^ 1]) + data[-1:] if data[1:] else b"x" + data)
        known.pop(path, None)
    print(json.dumps(refused()))
    for path, data in before.items():
        path.write_bytes(data)
        known.pop(path, None)
"""
# what was read is read again only where it was changed
_REMEMBER = """
def remembered(path, read=code.content):
    if path not in known:
        known[path] = read(path)
    return known[path]
code.content = remembered
"""


def installed(path: Path) -> str:
    """The path in an installation of a file of the tree."""
    first, *rest = path.parts
    if first in {"engine", "plugins"}:
        return "/".join(rest)
    if first == "tests":
        return "/".join(("tallystick", "_data", *rest))
    return "/".join(("tallystick", "_data", *path.parts)) if rest else first


def every_file(tree: Tree) -> list[Path]:
    found = [path.relative_to(tree.root) for path in tree.root.rglob("*") if path.is_file()]
    return sorted(path for path in found if path.name != "tallystick.lock")


def check_every_file(tree: Tree, before: str, *, one_of: int) -> None:
    """Change files that no closure lists all at once, and of those of each closure one of so many.

    A change of files at once is refused if one of them is; so whoever refuses none lists none.
    """
    listing = tree.do("lock", "--list", "--json")
    assert (listing.returncode, listing.stderr) == (0, "")
    closures = {each["path"]: each["closures"] for each in json.loads(listing.stdout)["files"]}
    files = every_file(tree)
    assert len(files) > 400
    assert closures.keys() <= {installed(path) for path in files}
    kinds: dict[tuple[str, ...], list[str]] = {(): []}
    for path in files:
        kinds.setdefault(tuple(closures.get(installed(path), ())), []).append(str(path))
    unlisted = kinds.pop(())
    groups = [unlisted] if one_of > 1 else [[path] for path in unlisted]
    expected: list[tuple[str, ...]] = [()] * len(groups)
    for refusing, paths in kinds.items():
        groups += [[path] for path in paths[::one_of]]
        expected += [refusing] * (len(groups) - len(expected))
    program = _EVERY.format(paths=tree.paths, root=str(tree.root), groups=groups, before=before)
    done = tree.python(program)
    assert (done.returncode, done.stderr) == (0, "")
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    for group, refusing, is_refused in zip(groups, expected, answers, strict=True):
        assert is_refused == bool(refusing), group


@pytest.mark.process
def test_a_changed_byte_is_refused_if_and_only_if_its_file_is_listed(original: Tree) -> None:
    """One listed file of eight; the nightly test takes each alone, and reads it anew."""
    check_every_file(original, _REMEMBER, one_of=8)


@pytest.mark.nightly
def test_each_changed_byte_is_found_by_reading_everything_again(original: Tree) -> None:
    check_every_file(original, "", one_of=1)
