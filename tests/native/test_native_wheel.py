"""The wheel of the native front: built, checked, installed from a folder beside the engine's, used.

Whatever is wrong with it, Python reads the lines to the same bytes; one line of the log says so.
"""

import hashlib
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from cli.command import SKILLS
from needs import tool
from wheels import Environment, build, build_native, copy_of_the_checkout

PASSED_OVER = "the native front is passed over"
SYSTEM = {
    "libc.so.6",
    "libm.so.6",
    "libgcc_s.so.1",
    "ld-linux-x86-64.so.2",
    "ld-linux-aarch64.so.1",
}
"""The libraries of the system that a wheel for Linux may need."""
OF_NEWER_PROGRAMS = """
#[no_mangle]
pub extern "C" fn tallystick_native_version() -> i64 { i64::MAX }
"""

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheels of the engine and of the native front."""
    tool("cargo")
    folder = tmp_path_factory.mktemp("wheels")
    checkout = copy_of_the_checkout(tmp_path_factory.mktemp("sources"))
    shutil.copy(build(checkout, "wheel"), folder)
    build_native(folder)
    return folder


@pytest.fixture(scope="module")
def native_wheel(wheels: Path) -> Path:
    (wheel,) = wheels.glob("tallystick_native-*.whl")
    return wheel


def test_the_wheel_has_what_it_should(native_wheel: Path) -> None:
    assert native_wheel.name.endswith(".whl")
    assert "-py3-none-" in native_wheel.name
    checker = Path(sys.executable).with_name("check-wheel-contents")
    command = (checker, "--no-config", "--toplevel", "tallystick_native", native_wheel)
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="auditwheel is for Linux")
def test_the_library_needs_nothing_but_the_system(native_wheel: Path) -> None:
    command = (sys.executable, "-m", "auditwheel", "show", native_wheel)
    told = " ".join(
        subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    )
    assert re.search(r'platform tag: "manylinux_2_\d+_', told), told
    assert {*re.findall(r"[\w.+-]+\.so[.\d]*", told)} <= SYSTEM


@pytest.fixture(scope="module")
def environment(wheels: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """An environment with the engine's wheel alone."""
    made = Environment(tmp_path_factory.mktemp("environment"))
    made.install(wheels, "tallystick")
    return made


def score(environment: Environment) -> tuple[int, bytes, dict[str, Any], str]:
    """Score the examples: the exit status, the results, the receipt, and what was logged."""
    output = environment.folder / "results.jsonl"
    command = (
        environment.folder / "bin" / "tallystick",
        "score",
        SKILLS,
        "--rules",
        "skills@1.2.0",
    )
    done = subprocess.run(
        (*command, "--front", "auto", "-v", "-o", output),
        check=False,
        capture_output=True,
        text=True,
        cwd=environment.folder,
    )
    receipt = json.loads(output.with_name("results.jsonl.receipt.json").read_text("utf-8"))
    return done.returncode, output.read_bytes(), receipt, done.stderr


def test_the_wheel_is_used_once_it_is_installed_and_only_while_it_is_whole(
    environment: Environment, wheels: Path, tmp_path: Path
) -> None:
    status, results, receipt, told = score(environment)
    assert (status, PASSED_OVER in told) == (0, False)
    assert "front" not in receipt

    environment.install(wheels, "tallystick-native")
    package = environment.packages / "tallystick_native"
    (library,) = package.glob("*tallystick_native.*")
    whole, digest = library.read_bytes(), hashlib.sha256(library.read_bytes()).hexdigest()
    status, *found, told = score(environment)
    version = native_version(environment)
    assert (status, PASSED_OVER in told) == (0, False)
    assert found == [results, {**receipt, "front": f"native {version} sha256:{digest}"}]

    library.write_bytes(bytes([*whole[:-1], whole[-1] ^ 1]))
    assert_passed_over(environment, results, receipt, f"expected sha256:{digest}")

    source = tmp_path / "newer.rs"
    source.write_text(OF_NEWER_PROGRAMS, encoding="utf-8")
    subprocess.run((tool("rustc"), "--crate-type", "cdylib", "-o", library, source), check=True)
    built, newer = package / "_built.py", hashlib.sha256(library.read_bytes()).hexdigest()
    built.write_text(built.read_text("utf-8").replace(digest, newer), encoding="utf-8")
    # of the same second and length, the bytecode would be taken for that of the new text
    shutil.rmtree(package / "__pycache__", ignore_errors=True)
    assert_passed_over(environment, results, receipt, f"found programs of version {2**63 - 1}")

    library.unlink()
    assert_passed_over(environment, results, receipt, "without its files")


def native_version(environment: Environment) -> str:
    names = environment.packages.glob("tallystick_native-*.dist-info")
    return "".join(re.findall(r"-(.*)\.dist-info", name.name)[0] for name in names)


def assert_passed_over(
    environment: Environment, results: bytes, receipt: dict[str, Any], reason: str
) -> None:
    """Python gives the same files, and one line says why the library is not used."""
    *found, told = score(environment)
    assert found == [0, results, receipt]
    (line,) = [line for line in told.splitlines() if PASSED_OVER in line]
    assert reason in line
