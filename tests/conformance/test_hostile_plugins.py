"""No hostile plugin passes: what it writes, starts, forges or replaces is a finding."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import attrs
import pytest
from broken import PLUGIN, broken
from gallery import with_fact

from tallystick_conformance.process import MAX_ERROR_BYTES, check

pytestmark = pytest.mark.nightly

_FORGERY = """
import os

def forge(frame):
    from tallystick_conformance.checks import NAMES
    while frame:
        say = frame.f_locals.get("say")
        if say:
            say(about={"folder": "/", "formulas": {}, "texts": {}, "skill_types": 0})
            say(done=NAMES[0])
            for name in NAMES[1:]:
                say(begin=name)
                say(done=name)
            say(generated={}, values={})
            say(end=True)
            os._exit(0)
        frame = frame.f_back
"""
"""What ends the check as if all had been well, where it gets hold of what answers."""
_EVERY_DESCRIPTOR = """
import os

for descriptor in range(3, 4096):
    try:
        os.write(descriptor, {line!r})
    except OSError:
        pass
"""
_GENERATOR = """
from tallystick.plugins.author import Generator

def make(*parts):
    {body}
    return {{}}

MAKING = Generator(make, make, make)
"""


@attrs.frozen
class Hostile:
    """A plugin that means harm.

    Attributes:
        name: of the case.
        code: one that is found.
        imported: what its module runs when it is imported.
        made: the body of its generator.
        fact: the body of an opaque fact.
    """

    name: str
    code: str
    imported: str = ""
    made: str = ""
    fact: str = ""

    def write(self, folder: Path) -> Path:
        """Write the project; MARK is a file that it should not touch."""
        mark = str(folder.parent / "mark")
        if self.fact:
            return broken(folder, **with_fact(self.fact.replace("MARK", mark), self.imported))
        plugin = self.imported + PLUGIN
        if self.made:
            plugin = _GENERATOR.format(body=self.made) + plugin.replace(
                "requirements=formulas.REQUIRED",
                "requirements=formulas.REQUIRED, generator=MAKING",
            )
        return broken(folder, plugin=plugin.replace("MARK", mark))


HOSTILE = [
    Hostile("write", "reaches-out", "open('MARK', 'w')\n"),
    Hostile("write-low", "reaches-out", "import os\nos.open('MARK', os.O_CREAT | os.O_WRONLY)\n"),
    Hostile("folder", "reaches-out", "import os\nos.mkdir('MARK')\n"),
    Hostile("socket", "reaches-out", "import socket\nsocket.socket()\n"),
    Hostile(
        "socket-caught",
        "reaches-out",
        "import socket\ntry:\n    socket.socket()\nexcept BaseException:\n    pass\n",
    ),
    Hostile("process", "reaches-out", "import subprocess\nsubprocess.Popen(['true'])\n"),
    Hostile("shell", "reaches-out", "import os\nos.system('touch MARK')\n"),
    Hostile("fork", "reaches-out", "import os\nif not os.fork():\n    os.setsid()\n"),
    Hostile("ctypes", "reaches-out", "import ctypes\nctypes.CDLL(None)\n"),
    Hostile("kill", "reaches-out", "import os\nos.kill(os.getppid(), 9)\n"),
    Hostile("memory", "reaches-out", "open('/proc/self/mem', 'rb')\n"),
    Hostile("late-write", "reaches-out", "import atexit\natexit.register(open, 'MARK', 'w')\n"),
    Hostile("generator", "reaches-out", made="open('MARK', 'a')"),
    Hostile("watched", "reaches-out", "import sys\nsys.setprofile(print)\n"),
    Hostile("frames", "reaches-out", f"{_FORGERY}\nimport sys\nforge(sys._getframe())\n"),
    Hostile(
        "frames-of-inspect",
        "reaches-out",
        f"{_FORGERY}\nimport inspect\nforge(inspect.currentframe())\n",
    ),
    Hostile(
        "frames-of-logging",
        "reaches-out",
        f"{_FORGERY}\nimport logging\nforge(logging.currentframe())\n",
    ),
    Hostile(
        "frames-of-an-error",
        "reaches-out",
        f"{_FORGERY}\ntry:\n    1 / 0\nexcept ZeroDivisionError as error:\n"
        "    forge(error.__traceback__.tb_frame)\n",
    ),
    Hostile("objects", "reaches-out", "import gc\ngc.get_objects()\n"),
    Hostile("objects-in-a-fact", "reaches-out", fact="import gc\nreturn len(gc.get_objects()) % 2"),
    Hostile(
        "forged",
        "answers-damaged",
        _EVERY_DESCRIPTOR.format(line=b'{"begin": "import"}\n{"end": true}\n'),
    ),
    Hostile("broken-line", "answers-damaged", _EVERY_DESCRIPTOR.format(line=b"check 1 ")),
    Hostile(
        "two-lines",
        "answers-damaged",
        _EVERY_DESCRIPTOR.format(line=b'{"begin": "loading"}\n{"end": true}\n') + "os._exit(0)\n",
    ),
    Hostile("closed", "crashed", "import os\nos.closerange(3, 4096)\n"),
    Hostile("ended", "crashed", "import os\nos._exit(0)\n"),
    Hostile(
        "no-checks",
        "import-side-effect",
        "import tallystick_conformance.checks as c\n"
        "c.CHECKS = tuple((name, lambda _: iter(())) for name, _ in c.CHECKS)\n",
    ),
    Hostile(
        "no-findings",
        "import-side-effect",
        "import tallystick_conformance.checks as c, tallystick_conformance.loading as l\n"
        "before = l.names_of_modules()\nl.names_of_modules = lambda: before\n"
        "c.check_import = c.run = lambda *_: iter(())\n",
    ),
    Hostile(
        "no-findings-later",
        "import-side-effect",
        fact="import tallystick_conformance.checks as c\nc.run = lambda *_: iter(())\nreturn 1",
    ),
    Hostile("flood", "output-too-large", "import os\nwhile True:\n    os.write(2, b'x' * 65536)\n"),
    Hostile(
        "answer-flood",
        "output-too-large",
        "import os\nwhile True:\n    for descriptor in range(3, 4096):\n        try:\n"
        "            os.write(descriptor, b'x' * 65536)\n        except OSError:\n"
        "            pass\n",
    ),
]


@pytest.mark.parametrize("hostile", HOSTILE, ids=lambda each: each.name)
def test_no_hostile_plugin_passes(hostile: Hostile, tmp_path: Path) -> None:
    """A hostile plugin is found, and its deed is not done."""
    report = check(hostile.write(tmp_path / "project"))
    assert hostile.code in {found.code for found in report.findings}
    assert not (tmp_path / "mark").exists()


def test_errors_are_kept_to_the_end_of_their_last_line(tmp_path: Path) -> None:
    much = f"import os\nfor _ in range({MAX_ERROR_BYTES >> 17}):\n    os.write(2, b'x' * 65536)\n"
    last = "os.write(2, b'\\nthe last words\\n')\nos._exit(3)\n"
    (found,) = check(broken(tmp_path, plugin=much + last + PLUGIN)).findings
    assert found.code == "crashed"
    assert found.message.endswith("the exit status 3, expected 0: the last words")


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has a subreaper")
@pytest.mark.parametrize("is_cut_off", [False, True], ids=["ended", "cut off"])
def test_a_process_with_a_session_of_its_own_is_ended(is_cut_off: bool, tmp_path: Path) -> None:
    """The plugin starts it unseen, behind the audit events of Python."""
    file = tmp_path / "started"
    shell = f"setsid sh -c 'echo $$ > {file}; exec sleep 600' & while [ ! -s {file} ]; do :; done"
    unseen = (
        "import os, subprocess, sys\naudit = sys.audit\nsys.audit = lambda *_: None\n"
        f"subprocess.Popen(['sh', '-c', {shell!r}]).wait()\n"
        "sys.audit = audit\n"
    )
    end = "while True:\n    os.write(2, b'x' * 65536)\n" if is_cut_off else "sys.exit()\n"
    report = check(broken(tmp_path / "project", plugin=unseen + end))
    code = "output-too-large" if is_cut_off else "process-left"
    assert code in {found.code for found in report.findings}
    # the supervisor waits for what it ends
    with pytest.raises(ProcessLookupError):
        os.kill(int(file.read_text()), 0)


def test_what_an_honest_import_does_is_no_finding(tmp_path: Path) -> None:
    honest = (
        "import collections, ctypes, inspect, logging, sqlite3, subprocess, traceback, warnings\n"
        "from pathlib import Path\n"
        "logging.getLogger('acme').info('loaded')\n"
        "Point = collections.namedtuple('Point', 'x y')\n"
        "inspect.signature(print)\n"
        "Path(__file__).read_bytes()\n"
        "try:\n    1 / 0\nexcept ZeroDivisionError:\n    traceback.format_exc()\n"
    )
    assert check(broken(tmp_path, plugin=honest + PLUGIN)).findings == ()


def test_nothing_is_recorded_outside_of_the_project(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    lie = f"__file__ = {str(elsewhere / 'plugin.py')!r}\n"
    rules = "_HERE = Path(__file__).parent"
    assert rules in PLUGIN
    plugin = PLUGIN.replace(rules, f"{rules}\n{lie}")
    folder = broken(tmp_path / "project", plugin=plugin, released={})
    report = check(folder, record=True)
    assert not report.recorded
    assert list(elsewhere.iterdir()) == []
