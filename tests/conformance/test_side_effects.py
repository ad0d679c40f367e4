"""An import that does more than define is found, with what it changes in its process."""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Iterator
from decimal import localcontext
from pathlib import Path

import pytest
from conformance.broken import PACKAGE, PLUGIN, broken, loaded
from examples import fast_rows

from tallystick.numbers import nano
from tallystick_conformance.loading import Subject, check_import, side_effects


@pytest.fixture
def _restored(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Restore afterwards all that the lines of the block change."""
    for owner, name in ((sys, "path"), (nano, "publish")):
        monkeypatch.setattr(owner, name, getattr(owner, name))
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(os, "environ", os.environ.copy())
    monkeypatch.chdir(Path.cwd())
    limit, state, profile = sys.getrecursionlimit(), random.getstate(), sys.getprofile()
    with localcontext():
        yield
    sys.setprofile(profile)
    sys.setrecursionlimit(limit)
    random.setstate(state)


@pytest.mark.usefixtures("_restored")
@pytest.mark.parametrize(
    ("line", "what"),
    fast_rows(
        [
            ("import os; os.chdir(os.sep)", "the working directory"),
            ("import os; os.environ['ACME'] = '1'", "os.environ"),
            ("import sys; sys.path.append('nowhere')", "sys.path"),
            ("import sys; sys.setrecursionlimit(4321)", "the recursion limit"),
            ("import sys; sys.setprofile(lambda *_: None)", "the trace or the profile function"),
            ("import random; random.seed(3)", "the state of random"),
            ("import decimal; decimal.getcontext().prec = 3", "the context of decimal"),
            ("print('hello')", "the standard output"),
            ("import sys; sys.stdout.close()", "the standard output"),
            ("import threading; threading.Timer(1, int).start()", "the running threads"),
            (
                "import tallystick.numbers.nano as n; n.publish = int",
                "tallystick.numbers.nano.publish",
            ),
        ],
        0,
        2,
        7,
    ),
)
def test_what_an_import_changes_in_the_process_is_named(line: str, what: str) -> None:
    with side_effects() as touched:
        exec(line, {})  # noqa: S102  # as an import runs it
    assert touched == [what]


def test_an_import_that_changes_the_process_is_found(tmp_path: Path) -> None:
    folder = broken(tmp_path, plugin=f"{PLUGIN}\nprint('hello')\n")
    with loaded(folder) as subject:
        assert isinstance(subject, Subject)
    (found,) = check_import(subject)
    assert (found.code, found.where) == ("import-side-effect", str(folder / PACKAGE))
    assert found.message.startswith("found that its import changes the standard output, expected")
