"""Whether the tests left the sources as they found them.

A test that writes into the checkout breaks whatever runs after it: bytecode that was cut off, for
instance, is imported by every later process.
"""

import hashlib
import marshal
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCES = (ROOT / "engine", ROOT / "plugins")
_HEADER = 16
"""The bytes before the code of a bytecode file: magic number, flags, time and size."""


def digests(*folders: Path) -> dict[Path, str]:
    """The digest of each file of the folders but bytecode."""
    return {
        path: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in _files(folders)
        if path.suffix != ".pyc"
    }


def changed(before: dict[Path, str], after: dict[Path, str]) -> list[Path]:
    """The files that came, went or have another content."""
    return sorted(p for p in before.keys() | after.keys() if before.get(p) != after.get(p))


def broken_bytecode(*folders: Path) -> list[Path]:
    """The bytecode files that this interpreter wrote and cannot read."""
    return [path for path in _files(folders) if path.suffix == ".pyc" and not _whole(path)]


def _whole(path: Path) -> bool:
    content = path.read_bytes()
    try:
        marshal.loads(content[_HEADER:])  # noqa: S302  # of the checkout itself
    except (EOFError, ValueError, TypeError):
        return False
    return True


def _files(folders: tuple[Path, ...]) -> Iterator[Path]:
    for folder in folders:
        yield from sorted(path for path in folder.rglob("*") if path.is_file())
