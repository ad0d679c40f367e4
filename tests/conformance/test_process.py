"""A plugin is checked in a process of its own: it may hang, crash, print, and depend on luck."""

from __future__ import annotations

from pathlib import Path

import pytest
from conformance.broken import FORMULAS, PLUGIN, broken, with_fact

from tallystick_conformance.process import check
from tallystick_conformance.report import Report

pytestmark = pytest.mark.nightly

SHIPPED = ("skills", "workflow")


def codes(report: Report) -> list[tuple[str, str]]:
    """The check and the code of each finding."""
    return [(each.name, found.code) for each in report.checked for found in each.findings]


def test_every_shipped_plugin_passes() -> None:
    skills, workflow = map(check, SHIPPED)
    assert [codes(skills), codes(workflow)] == [[], []]
    assert (workflow.plugin, workflow.formulas, workflow.skill_types) == ("workflow", 7, 1)


def test_an_import_that_hangs_is_cut_off(tmp_path: Path) -> None:
    hanging = "import time\ntime.sleep(600)\n"
    report = check(str(broken(tmp_path, plugin=hanging)), seconds=1.5)
    assert codes(report) == [("loading", "timed-out")]
    assert "1.5 seconds" in report.findings[0].message


def test_a_process_that_ends_at_once_keeps_what_was_found_before(tmp_path: Path) -> None:
    ending = (
        "from tallystick.plugins.author import Generator\n\n"
        "def end(*parts):\n"
        "    import os, sys\n"
        "    sys.stderr.write('the last words\\n')\n"
        "    sys.stderr.flush()\n"
        "    os._exit(3)\n\n"
        "ENDING = Generator(end, end, end)\n"
    )
    plugin = ending + PLUGIN.replace(
        "requirements=formulas.REQUIRED", "requirements=formulas.REQUIRED, generator=ENDING"
    )
    report = check(str(broken(tmp_path, plugin=plugin, released={})))
    assert codes(report) == [
        ("releases", "formula-unrecorded"),
        ("releases", "formula-unrecorded"),
        ("examples", "crashed"),
    ]
    assert "the exit status 3, expected 0: the last words" in report.findings[-1].message
    assert [each.name for each in report.checked][-1] == "examples"


@pytest.mark.parametrize(
    "size",
    [
        pytest.param("len(os.getcwd().partition('-conformance-')[1])", id="folder"),
        pytest.param("hash('a')", id="order of sets"),
        pytest.param("len(os.environ.get('USER', ''))", id="environment"),
        pytest.param("time.localtime(0).tm_min", id="time zone"),
        # the other clock is ahead by 3.4 of these units, or by 4.001 of those of the calendar
        pytest.param("int(time.time()) // 10**7", id="clock"),
        pytest.param("datetime.now().toordinal() // 100", id="calendar"),
    ],
)
def test_what_a_module_takes_from_its_process_differs_in_another(
    size: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The call of the fact asks for nothing; its module did, when it was imported."""
    monkeypatch.setenv("USER", "me")
    monkeypatch.setenv("TZ", "UTC")
    monkeypatch.chdir(tmp_path)
    imports = f"import os\nimport time\nfrom datetime import datetime\n\nSIZE = {size} % 19\n"
    folder = broken(tmp_path, **with_fact("return SIZE", imports))
    (found,) = check(str(folder)).findings
    assert (found.code, found.where) == ("opaque-unstable", "acme/measure@1: measured")
    first, second = found.evidence["values"]
    assert first != second
    assert found.evidence["record"]["skill_type"] == "parcel"


OF_ZONE = 'Fraction(len(os.environ.get("TZ", "")) % 10, 10))'
MAKES = (
    "lambda _: {'most_grams': id(object()) % 999}, "
    "lambda *_: {'grams': 1, 'stops': 1, 'note': ''}, lambda *_: {'care': 1}"
)
UNSTABLE = {
    "formula-unstable": {
        "formulas": "import os\nfrom fractions import Fraction\n" + FORMULAS.replace("0)", OF_ZONE)
    },
    "generator-unstable": {
        "plugin": PLUGIN.replace("import SkillType", "import Generator, SkillType").replace(
            "REQUIRED)", f"REQUIRED, generator=Generator({MAKES}))"
        )
    },
}


@pytest.mark.parametrize("code", UNSTABLE)
def test_what_is_another_in_another_process_is_found(code: str, tmp_path: Path) -> None:
    report = check(str(broken(tmp_path, **UNSTABLE[code])))
    assert [found.code for found in report.findings] == [code]


def test_folders_of_a_project_hide_no_module_of_the_engine(tmp_path: Path) -> None:
    """Not even one that the engine loads late."""
    folder = broken(tmp_path / "ünï cödé : 数")
    for name in ("json", "numpy", "random", "tallystick", "tests"):
        (folder / name).mkdir()
        (folder / name / "__init__.py").write_text("raise ImportError('hidden')\n")
    assert check(str(folder)).findings == ()
