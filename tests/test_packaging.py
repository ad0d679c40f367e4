"""The wheel is the same bytes wherever it is built, and an editable install reads the checkout.

All are built by the build backend itself, without a network, and unpacked into an environment of
their own. That environment sees the dependencies of the one that runs the tests, but none of its
Tallystick: what comes first on the search path wins, and a path file that another path file leads
to is not read.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import attrs
import pytest
from packages import PACKAGES, ROOT

import tallystick
from tallystick.lock.installed import everything_installed, pinned_files
from tallystick.lock.write import lock_of, write
from tallystick.plugins.code import engine_digest, plugin_digest

VECTORS = "tests/vectors/rows.json"
FOLDERS = ("engine", "plugins", "rules", "schemas")
FILES = ("LICENSE", "README.md", "pyproject.toml")
SOURCES = (*FOLDERS, *FILES, VECTORS)
pytestmark = pytest.mark.nightly
PLUGINS = ("consensus", "reward", "skills", "workflow")
OF_THE_SDIST = (
    *FOLDERS,
    *FILES,
    ".ci",
    ".gitignore",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "Makefile",
    "docs",
    "tests",
)

WHERE = f"""
from importlib import import_module
import json
import attrs
from tallystick.lock.installed import everything_installed, pinned_files
from tallystick.plugins.code import engine_digest, plugin_digest
from tallystick.plugins.registry import installed
from tallystick.resources import folder
from tallystick.rules.loading import shipped

registry = installed()
print(json.dumps({{
    **{{name: import_module(name).__file__ for name in {PACKAGES}}},
    "rules": str(folder("rules")),
    "schemas": str(folder("schemas")),
    "examples": str(registry.skill_types["workflow"].examples),
    "refused": dict(registry.refused),
    "engine": engine_digest(),
    "code": {{p.name: plugin_digest(p.module) for p in registry.plugins.values()}},
    "shipped": sorted(shipped(registry)),
    "listed": [attrs.astuple(each) for each in pinned_files(everything_installed())],
}}))
"""


def copy_of_the_checkout(folder: Path, names: tuple[str, ...] = SOURCES) -> Path:
    for name in names:
        if (ROOT / name).is_dir():
            ignored = shutil.ignore_patterns("__pycache__", ".*_cache", ".hypothesis")
            shutil.copytree(ROOT / name, folder / name, ignore=ignored)
        else:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    return folder


def build(checkout: Path, *targets: str, umask: int = -1, **environment: str) -> Path:
    """The wheel that the build backend makes of a checkout, with its other targets beside it."""
    command = [sys.executable, "-m", "hatchling", "build"]
    for target in targets:
        command += ["--target", target]
    given = {key: value for key, value in os.environ.items() if key != "SOURCE_DATE_EPOCH"}
    subprocess.run(
        command, cwd=checkout, check=True, capture_output=True, umask=umask, env=given | environment
    )
    (built,) = (checkout / "dist").glob("*.whl")
    return built


class Environment:
    """A virtual environment in a folder, with a wheel in it."""

    def __init__(self, folder: Path, wheel: Path) -> None:
        venv.create(folder, symlinks=True)
        self.folder = folder
        self.python = folder / "bin" / "python"
        self.packages = Path(
            self.run("-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip()
        )
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(self.packages)
        dependencies = [sysconfig.get_path("purelib"), sysconfig.get_path("platlib")]
        (self.packages / "zz_dependencies.pth").write_text("\n".join(dependencies))

    def run(self, *arguments: str) -> str:
        """What Python prints, started in the folder of the environment."""
        done = subprocess.run(
            [self.python, *arguments], cwd=self.folder, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    checkout = copy_of_the_checkout(tmp_path_factory.mktemp("sources"), OF_THE_SDIST)
    return build(checkout, "sdist", "wheel")


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    return Environment(tmp_path_factory.mktemp("installed"), wheel)


def test_the_bytes_are_the_same_wherever_and_whenever_it_is_built(
    wheel: Path, tmp_path: Path
) -> None:
    """From the source distribution, elsewhere, with other times, modes, umask and locale."""
    (sdist,) = wheel.parent.glob("*.tar.gz")
    shutil.unpack_archive(sdist, tmp_path, filter="data")
    (checkout,) = tmp_path.iterdir()
    for path in checkout.rglob("*"):
        path.chmod(0o700 if path.stat().st_mode & 0o100 else 0o600)
        os.utime(path, (1_000_000_000, 1_000_000_000))
    makefile = (checkout / "Makefile").read_text(encoding="utf-8")
    (epoch,) = re.findall(r"^export SOURCE_DATE_EPOCH := (\d+)$", makefile, re.MULTILINE)
    surroundings = {"TZ": "Asia/Kathmandu", "LC_ALL": "C", "PYTHONHASHSEED": "7"}
    again = build(checkout, "sdist", "wheel", umask=0o077, SOURCE_DATE_EPOCH=epoch, **surroundings)
    assert {path.name for path in again.parent.iterdir()} == {wheel.name, sdist.name}
    assert again.read_bytes() == wheel.read_bytes()
    assert (again.parent / sdist.name).read_bytes() == sdist.read_bytes()


def test_an_installed_wheel_finds_everything_inside_itself(installed: Environment) -> None:
    where = json.loads(installed.run("-c", WHERE))
    assert where["refused"] == {}
    assert where["shipped"] == shipped_in(ROOT / "rules")
    for name in (*PACKAGES, "examples"):
        assert Path(where[name]).is_relative_to(installed.packages)
    for name in ("rules", "schemas"):
        assert Path(where[name]) == installed.packages / "tallystick" / "_data" / name
    # the same code as in the checkout, whose rules and schemas are elsewhere
    assert where["engine"] == engine_digest()
    own = {name: plugin_digest(f"tallystick_{name}.plugin") for name in PLUGINS}
    assert where["code"] == own
    assert where["listed"] == listed()


def listed() -> list[object]:
    """The files that a lock of everything would pin here, with their closures and digests."""
    found: list[object] = json.loads(
        json.dumps([attrs.astuple(each) for each in pinned_files(everything_installed())])
    )
    assert len(found) > 300
    return found


def test_an_installed_wheel_tests_itself_and_has_the_lock_of_the_checkout(
    installed: Environment, tmp_path: Path
) -> None:
    rules = ("--rules", "skills@1.1.0", "--rules", "workflow@1.1.0")
    installed.run("-m", "tallystick", "lock", *rules, "--self-test", "-o", str(tmp_path / "lock"))
    write(lock_of(map(tallystick.load, rules[1::2]), tmp_path), tmp_path / "own")
    assert (tmp_path / "lock").read_bytes() == (tmp_path / "own").read_bytes()


def shipped_in(rules: Path) -> list[str]:
    return sorted(f"{path.parent.name}@{path.stem}" for path in rules.glob("*/*.toml"))


def test_an_editable_install_reads_the_checkout_and_sees_an_edit_at_once(tmp_path: Path) -> None:
    checkout = copy_of_the_checkout(tmp_path / "checkout")
    environment = Environment(tmp_path / "environment", build(checkout, "wheel:editable"))
    where = json.loads(environment.run("-c", WHERE))
    assert where["refused"] == {}
    assert Path(where["tallystick"]).is_relative_to(checkout / "engine")
    assert Path(where["tallystick_skills"]).is_relative_to(checkout / "plugins")
    assert Path(where["rules"]) == checkout / "rules"
    assert Path(where["schemas"]) == checkout / "schemas"
    assert where["listed"] == listed()

    before = environment.run("-m", "tallystick", "rules", "digest", "workflow@1.0.0")
    edited = checkout / "rules" / "workflow" / "1.0.0.toml"
    text = edited.read_text(encoding="utf-8")
    edited.write_text(text.replace("last = 100,", "last = 101,"), encoding="utf-8")
    after = environment.run("-m", "tallystick", "rules", "digest", "workflow@1.0.0")
    assert edited.read_text(encoding="utf-8") != text
    assert before != after
