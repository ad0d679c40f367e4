"""A copy of the project, whose files a test may change."""

import shutil
import subprocess
import sys
from pathlib import Path

import attrs

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


@attrs.frozen
class Tree:
    """A copy of the project.

    Attributes:
        root: where it is.
        replaced: what files were before they were changed; None of one that was not there.
    """

    root: Path
    replaced: dict[Path, bytes | None] = attrs.field(factory=dict)

    @property
    def paths(self) -> list[str]:
        """Where its packages are imported from."""
        return [str(self.root / name) for name in ("engine", "plugins")]

    def do(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        program = _START.format(
            paths=self.paths, root=str(self.root), arguments=["tallystick", *arguments]
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

    def write(self, name: str, data: bytes) -> None:
        """Write a file, which is put back as it was, or removed."""
        path = self.root / name
        self.replaced.setdefault(path, path.read_bytes() if path.exists() else None)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)

    def put_back(self) -> None:
        """Make the tree as it was."""
        while self.replaced:
            path, data = self.replaced.popitem()
            if data is not None:
                path.write_bytes(data)
                continue
            path.unlink()
            if not any(path.parent.iterdir()):
                path.parent.rmdir()


def copied(root: Path) -> Tree:
    """A tree with a lock of a shipped rule set and of one in a file."""
    tree = Tree(root)
    for name in COPIED:
        place = root / name
        place.parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, place, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, place)
    shutil.copy(ROOT / "rules" / "workflow" / "1.1.0.toml", root / "mine.toml")
    done = tree.do("lock", "--rules", "skills@1.1.0", "--rules", "mine.toml")
    assert (done.returncode, done.stderr) == (0, "")
    return tree
