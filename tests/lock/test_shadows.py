"""A file that Python would import in the place of a module of a closure is refused."""

import importlib.util
import py_compile
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import pytest

from tallystick.plugins.code import ShadowedError, refuse_shadows

SHADOWS = {
    "a package": "root/__init__.py",
    "a package of bytecode": "root/__init__.pyc",
    "an extension": f"root{EXTENSION_SUFFIXES[-1]}",
    "an extension in a package": f"root/__init__{EXTENSION_SUFFIXES[0]}",
}
"""Files that Python would import as ``root``."""


@pytest.fixture
def module(tmp_path: Path) -> Path:
    path = tmp_path / "root.py"
    path.write_text("ROOT = 1\n")
    return path


def beside(module: Path, name: str, data: bytes = b"") -> Path:
    path = module.parent / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("name", SHADOWS.values(), ids=SHADOWS)
def test_what_would_be_imported_in_the_place_of_a_module_is_refused(
    module: Path, name: str
) -> None:
    by = beside(module, name)
    with pytest.raises(ShadowedError) as caught:
        refuse_shadows([module])
    assert (caught.value.path, caught.value.by) == (module, by)


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("root/notes.txt", b"no package"),
        ("root.pyc", b"a source beside it comes first"),
        ("root_more.py", b"raise SystemExit"),
        ("other/__init__.py", b"raise SystemExit"),
    ],
)
def test_what_is_not_imported_in_the_place_of_a_module_is_left_alone(
    module: Path, name: str, data: bytes
) -> None:
    beside(module, name, data)
    refuse_shadows([module])


def test_bytecode_without_its_source_is_refused(module: Path) -> None:
    by = beside(module, "root.pyc")
    module.unlink()
    with pytest.raises(ShadowedError, match="found a file that is imported in the place of"):
        refuse_shadows([module])
    by.unlink()
    refuse_shadows([module])


def test_bytecode_that_nobody_compares_with_its_source_is_refused(module: Path) -> None:
    cached = Path(importlib.util.cache_from_source(module))
    unchecked = py_compile.PycInvalidationMode.UNCHECKED_HASH
    py_compile.compile(str(module), cfile=str(cached), invalidation_mode=unchecked)
    refuse_shadows([module])
    module.write_text("ROOT = 2\n")
    with pytest.raises(ShadowedError) as caught:
        refuse_shadows([module])
    assert caught.value.by == cached
    # what Python compares with the source counts for nothing
    checked = py_compile.PycInvalidationMode.CHECKED_HASH
    py_compile.compile(str(module), cfile=str(cached), invalidation_mode=checked)
    module.write_text("ROOT = 3\n")
    refuse_shadows([module])
