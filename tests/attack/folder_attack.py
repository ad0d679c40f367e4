"""Folders of several users with settings files in them, and who may have written what counts.

The oracle follows the rule as docs/command-line.md says it, from `lstat` of each name alone; the
engine asks open descriptors. Without the rights of root all files are of one user, and only modes
and links differ.
"""

import json
import os
import stat
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random

NAME = "tallystick.toml"
ROOT, ME, OTHER, GROUP = 0, 61_001, 61_002, 61_003
IS_ROOT = os.geteuid() == ROOT
FOLDER_MODES = (0o755, 0o755, 0o755, 0o711, 0o555, 0o2755, 0o775, 0o2775, 0o757, 0o777, 0o1777)
FILE_MODES = (0o644, 0o644, 0o644, 0o444, 0o664, 0o646, 0o666, 0o466)
KINDS = {
    "file": 40,
    "link": 8,
    "relative": 4,
    "second": 4,
    "way": 4,
    "own": 4,
    "dangling": 2,
    "loop": 2,
    "pipe": 2,
    "folder": 2,
    "nothing": 10,
}
"""Kinds of what stands under the name, and how often each is planted."""
NOTHING = ("nothing", "")

Answer = tuple[str, str]
"""The end of a look-up, ``counts``, ``ignored`` or ``nothing``, and the text that counts."""


def users() -> tuple[int, ...]:
    """Who looks settings up."""
    return (ROOT, ME) if IS_ROOT else (os.geteuid(),)


def plant(base: Path, seed: str) -> Path:
    """Make a working folder with what may be a settings file, and one that links lead to."""
    random = Random(seed)
    top = base / seed.replace(" ", "-")
    shared, folder = top / "shared", top / "folder"
    for path in (top, shared, folder):
        path.mkdir()
    _file(random, shared / "target.toml", seed)
    (shared / "again.toml").symlink_to("target.toml")
    (top / "way").symlink_to("shared")
    _entry(random, folder, top, seed)
    # from the inside out, as root may do so in folders of others
    for path in (folder, shared, top):
        _own(random, path, FOLDER_MODES)
    return folder


def _entry(random: Random, folder: Path, top: Path, text: str) -> None:
    path = folder / NAME
    (kind,) = random.choices([*KINDS], [*KINDS.values()])
    match kind:
        case "nothing":
            return
        case "file":
            _file(random, path, text)
            return
        case "pipe":
            os.mkfifo(path)
        case "folder":
            path.mkdir()
        case "own":
            _file(random, folder / "own.toml", text)
            path.symlink_to("own.toml")
        case "relative":
            path.symlink_to(os.path.relpath(top / "shared" / "target.toml", folder))
        case _:
            targets = {
                "link": top / "shared" / "target.toml",
                "second": top / "shared" / "again.toml",
                "way": top / "way" / "target.toml",
                "dangling": top / "absent.toml",
                "loop": path,
            }
            path.symlink_to(targets[kind])
    _give(random, path)


def _file(random: Random, path: Path, text: str) -> None:
    path.write_text(text)
    _own(random, path, FILE_MODES)


def _own(random: Random, path: Path, modes: Sequence[int]) -> None:
    _give(random, path)
    path.chmod(random.choice(modes))


def _give(random: Random, path: Path) -> None:
    owner = random.choices((ME, ROOT, OTHER), (60, 20, 20))[0]
    if IS_ROOT:
        os.lchown(path, owner, random.choice((ROOT, ME, GROUP)))


def expected(folder: Path, user: int) -> Answer:
    """Return what the rule says of a working folder."""
    path = folder / NAME
    final = _followed(path)
    if final is None:
        return NOTHING
    if _is_second(path) or not all(
        _is_of(user, each) for hop in (path, final) for each in (hop.parent, hop)
    ):
        return "ignored", ""
    return ("counts", final.read_text()) if final.is_file() else NOTHING


def _followed(path: Path) -> Path | None:
    """The one place that a name stands for; None where it is neither file nor link."""
    if not os.path.lexists(path):
        return None
    mode = path.lstat().st_mode
    if stat.S_ISLNK(mode):
        target = path.parent / path.readlink()
        return path if not os.path.lexists(target) else Path(os.path.normpath(target))
    return path if stat.S_ISREG(mode) else None


def _is_second(path: Path) -> bool:
    """Whether a name is a link that leads through another one."""
    if not path.is_symlink():
        return False
    target = Path(os.path.normpath(path.parent / path.readlink()))
    return any(each.is_symlink() for each in (target, *target.parents))


def _is_of(user: int, path: Path) -> bool:
    status = path.lstat()
    letters = stat.filemode(status.st_mode)
    is_closed = letters[0] == "l" or (letters[5] == "-" and letters[8] == "-")
    return status.st_uid in (user, ROOT) and is_closed


_LOOKER = """
import json, os, sys
from pathlib import Path
from tallystick.io.ownership import look_up
if os.geteuid() == 0:
    user = int(sys.argv[1])
    os.setgroups([])
    os.setgid(user)
    os.setuid(user)
for line in sys.stdin.read().splitlines():
    found = look_up(Path(line), "tallystick.toml", 4096)
    if found is None:
        print(json.dumps(["nothing", ""]))
    else:
        print(json.dumps(["ignored" if found.objection else "counts", found.data.decode()]))
"""


def answers(folders: Sequence[Path], user: int) -> Iterator[Answer]:
    """Yield what the engine finds, looked up by a process of the user."""
    found = subprocess.run(
        [sys.executable, "-W", "error", "-c", _LOOKER, str(user)],
        input="\n".join(map(str, folders)),
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 0, found.stderr
    for line in found.stdout.splitlines():
        outcome, text = json.loads(line)
        yield outcome, text


_WRITER = f"""
import os, sys
os.setgroups([{ME}, {GROUP}])
os.setgid({OTHER})
os.setuid({OTHER})
paths = sys.stdin.read().splitlines()
sys.stdout.write(chr(10).join(path for path in paths if os.access(path, os.W_OK)))
"""


def writable(paths: Sequence[Path]) -> str:
    """Return those of some paths that a process of another user, in every group, can write."""
    found = subprocess.run(
        [sys.executable, "-c", _WRITER],
        input="\n".join(map(str, paths)),
        capture_output=True,
        text=True,
        check=True,
    )
    return found.stdout


def attack(base: Path, count: int, seed: int) -> dict[str, int]:
    """Compare engine and oracle, and return how many look-ups had which outcome."""
    outcomes = dict.fromkeys(("counts", "ignored", "nothing"), 0)
    folders = [plant(base, f"{seed} {number}") for number in range(count)]
    counted = list[Path]()
    for user in users():
        for folder, answer in zip(folders, answers(folders, user), strict=True):
            assert answer == expected(folder, user), f"{folder}, user {user}"
            outcomes[answer[0]] += 1
            if answer[0] == "counts":
                final = (folder / NAME).resolve()
                counted += [folder, final.parent, final]
    if IS_ROOT:
        assert writable(counted) == ""
        # and the other user is one who can write somewhere
        assert writable([base, *folders]) != ""
    return outcomes
