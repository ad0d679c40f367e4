"""Wheels as the build backend makes them, without a network, and environments that they are in."""

import os
import shutil
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

from packages import ROOT

SOURCES = (
    *("engine", "plugins", "rules", "schemas", "LICENSE", "README.md", "pyproject.toml"),
    "tests/vectors/rows.json",
)
"""Files and folders of the checkout that the wheel is built from."""
_PATH_FILE = "zz_dependencies.pth"


def copy_of_the_checkout(folder: Path, names: tuple[str, ...] = SOURCES) -> Path:
    """Copy parts of the checkout into a folder, and return it."""
    for name in names:
        if (ROOT / name).is_dir():
            ignored = shutil.ignore_patterns("__pycache__", ".*_cache", ".hypothesis")
            shutil.copytree(ROOT / name, folder / name, ignore=ignored)
        else:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    return folder


def build(checkout: Path, *targets: str, umask: int = -1, **environment: str) -> Path:
    """Build targets of a checkout, and return the wheel among them; the others are beside it."""
    command = [sys.executable, "-m", "hatchling", "build"]
    for target in targets:
        command += ["--target", target]
    given = {key: value for key, value in os.environ.items() if key != "SOURCE_DATE_EPOCH"}
    subprocess.run(
        command, cwd=checkout, check=True, capture_output=True, umask=umask, env=given | environment
    )
    (built,) = (checkout / "dist").glob("*.whl")
    return built


def build_native(folder: Path) -> Path:
    """Build the wheel of the native front into a folder; what cargo compiled is kept."""
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "wheel", "--quiet")
    options = ("--no-index", "--no-deps", "--no-build-isolation", "--wheel-dir", folder)
    target = {"CARGO_TARGET_DIR": str(ROOT / "build" / "native")}
    command = (*pip, *options, ROOT / "engine" / "native")
    subprocess.run(command, check=True, env=os.environ | target)
    (built,) = folder.glob("tallystick_native-*.whl")
    return built


class Environment:
    """A virtual environment in a folder, with a wheel in it if one is given.

    It sees the dependencies of the environment that runs the tests, but no Tallystick of that one.
    """

    def __init__(self, folder: Path, wheel: Path | None = None) -> None:
        venv.create(folder, symlinks=True)
        self.folder = folder
        self.python = folder / "bin" / "python"
        self.packages = Path(
            self.run("-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip()
        )
        if wheel is not None:
            with zipfile.ZipFile(wheel) as archive:
                archive.extractall(self.packages)
        dependencies = folder / "dependencies"
        dependencies.mkdir()
        for site in (Path(path) for path in sys.path if path.endswith("-packages")):
            for path in site.iterdir():
                link = dependencies / path.name
                if "tallystick" not in path.name and not link.exists():
                    link.symlink_to(path)
        (self.packages / _PATH_FILE).write_text(f"{dependencies}\n", encoding="utf-8")

    def install(self, folder: Path, *names: str) -> None:
        """Let pip install distributions from the wheels of a folder."""
        pip = (sys.executable, "-m", "pip", "--python", self.python, "--disable-pip-version-check")
        options = ("--quiet", "--no-compile", "--no-deps", "--no-index", "--find-links", folder)
        subprocess.run((*pip, "install", *options, *names), check=True)

    def run(self, *arguments: str) -> str:
        """Run Python in the folder of the environment, and return its output."""
        done = subprocess.run(
            [self.python, *arguments], cwd=self.folder, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout
