"""Environments with one release of `bittensor` each, and what its source distribution records.

They stay below `build/`, each made once by the first test that asks: `make clean` removes them. A
program that runs there finds the modules of the tests' own environment behind those of the release.
"""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
from collections.abc import Sequence
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import tallystick
import tallystick_chain

OLDEST, NEWEST, TEN = "11.1.0", "11.3.0", "10.5.0"
"""The oldest release that the extra allows, the newest known, and the last of the major before."""
FOLDER = Path(__file__).resolve().parents[1] / "build" / "sdk"
_PYTHON = f"py{sys.version_info.major}{sys.version_info.minor}"
_GOLDEN = "tests/fixtures/golden.json"
_IMPORTED = (tallystick, tallystick_chain)


def python(release: str) -> Path:
    """The interpreter of the environment with a release."""
    home = FOLDER / f"{release}-{_PYTHON}"
    if not home.exists():
        with tempfile.TemporaryDirectory(dir=_made(FOLDER)) as folder:
            made = Path(folder) / "environment"
            subprocess.run([sys.executable, "-m", "venv", "--without-pip", made], check=True)
            uv = [sys.executable, "-m", "uv", "pip", "install", "--quiet", "--no-config"]
            chosen = ["--python", made / "bin" / "python", "--only-binary", ":all:"]
            subprocess.run([*uv, *chosen, f"bittensor=={release}"], check=True)
            _put(made, home)
    return home / "bin" / "python"


def golden() -> Path:
    """Return the chain that the source distribution of the newest release has recorded."""
    home = FOLDER / f"golden-{NEWEST}.json"
    if not home.exists():
        with tempfile.TemporaryDirectory(dir=_made(FOLDER)) as folder:
            pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "download"]
            source = ["--no-deps", "--no-binary", "bittensor", f"bittensor=={NEWEST}"]
            subprocess.run(
                [*pip, "--quiet", "--dest", folder, *source], check=True, capture_output=True
            )
            [archive] = Path(folder).glob("*.tar.gz")
            with tarfile.open(archive) as files:
                [member] = [each for each in files if each.name.endswith(_GOLDEN)]
                content = files.extractfile(member)
                assert content is not None
                made = Path(folder) / "golden.json"
                made.write_bytes(content.read())
            _put(made, home)
    return home


def answers(release: str, program: Path, question: Any, folder: Path) -> Any:  # noqa: ANN401  # JSON
    """Return the answer of a program in the environment of a release; JSON both ways."""
    done = subprocess.run(
        [python(release), program],
        input=json.dumps({"paths": _paths(), "question": question}),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        env=variables(folder),
    )
    return json.loads(done.stdout)


def variables(folder: Path) -> dict[str, str]:
    """The environment's variables, by which the package keeps its files in a folder."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return own | {
        "HOME": str(folder),
        "BITTENSOR_RUNTIME_CACHE_DIR": str(folder / "runtime"),
        "BTCLI_TOKEN_SYMBOLS_CACHE": str(folder / "symbols.json"),
    }


def _paths() -> Sequence[str]:
    """Where the modules of this environment are, such as those of the engine."""
    here = [str(Path(module.__file__ or "").parents[1]) for module in _IMPORTED]
    return list(dict.fromkeys([*here, sysconfig.get_paths()["purelib"]]))


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _put(made: Path, home: Path) -> None:
    """Put something in its place; another process may have been first."""
    try:
        made.rename(home)
    except OSError:
        if not home.exists():
            raise
        if made.is_dir():
            shutil.rmtree(made)


def extra() -> str:
    """Return the requirements of the project's extra."""
    [found] = [
        each
        for each in distribution("tallystick").requires or ()
        if "extra == 'bittensor'" in each.replace('"', "'")
    ]
    return found.partition(";")[0].strip()
