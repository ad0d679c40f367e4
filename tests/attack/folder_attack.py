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

import attrs

NAME = "tallystick.toml"
ROOT, ME, OTHER, GROUP = 0, 61_001, 61_002, 61_003
IS_ROOT = os.geteuid() == ROOT
FOLDER_MODES = (0o755, 0o755, 0o755, 0o711, 0o555, 0o2755, 0o775, 0o2775, 0o757, 0o777, 0o1777)
FILE_MODES = (0o644, 0o644, 0o644, 0o444, 0o664, 0o646, 0o666, 0o466)
KINDS = ["file", "link", "relative", "second", "way", "own", "dangling", "loop", "pipe", "folder"]
_CALLER = Path(__file__).with_name("folder_caller.py")


@attrs.frozen
class Case:
    """A working folder, and the folders that its user trusts."""

    folder: Path
    trusted: tuple[Path, ...]


@attrs.frozen
class Answer:
    """The file that counts, what is read of it, and the files that are ignored."""

    path: str | None
    text: str
    ignored: list[str]


def users() -> tuple[int, ...]:
    """Who looks settings up."""
    return (ROOT, ME) if IS_ROOT else (os.geteuid(),)


def plant(base: Path, seed: str) -> Case:
    """Make folders with settings files: a chain of up to four, and one that links lead to."""
    random = Random(seed)
    top = base / seed.replace(" ", "-")
    folder, shared, chain = top, top / "shared", list[Path]()
    for folder in (top, shared):
        folder.mkdir()
    _file(random, shared / "target.toml", seed)
    (shared / "again.toml").symlink_to("target.toml")
    (top / "way").symlink_to("shared")
    folder = top
    for depth in range(random.randint(1, 4)):
        folder /= f"d{depth}"
        folder.mkdir()
        chain.append(folder)
        _entry(random, folder, top, f"{seed} {depth}")
    if random.random() < 0.1:
        _entry(random, top, top, f"{seed} top")
    # from the inside out, as root may do so in folders of others
    for path in (*reversed(chain), shared, top):
        _own(random, path, FOLDER_MODES)
    trusted = random.sample([*chain, shared], 1) if random.random() < 0.15 else []
    return Case(folder, tuple(trusted))


def _entry(random: Random, folder: Path, top: Path, text: str) -> None:
    path = folder / NAME
    kind = random.choices(
        (
            "file",
            "link",
            "relative",
            "second",
            "way",
            "own",
            "dangling",
            "loop",
            "pipe",
            "folder",
            "",
        ),
        (40, 8, 4, 4, 4, 4, 2, 2, 2, 2, 28),
    )[0]
    match kind:
        case "file":
            _file(random, path, text)
        case "pipe":
            os.mkfifo(path)
        case "folder":
            path.mkdir()
        case "own":
            _file(random, folder / "own.toml", text)
            path.symlink_to("own.toml")
        case "relative":
            path.symlink_to(os.path.relpath(top / "shared" / "target.toml", folder))
        case "link" | "second" | "way" | "dangling" | "loop":
            targets = {
                "link": top / "shared" / "target.toml",
                "second": top / "shared" / "again.toml",
                "way": top / "way" / "target.toml",
                "dangling": top / "absent.toml",
                "loop": path,
            }
            path.symlink_to(targets[kind])
    if kind and kind != "file":
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


def expected(case: Case, user: int) -> Answer:
    """Return what the rule says of a working folder."""
    ignored = list[str]()
    for folder in (case.folder, *case.folder.parents):
        path = folder / NAME
        final = _followed(path)
        if final is None:
            continue
        hops = [path] if final == path else [path, final]
        if _is_second(path) or not all(_is_safe(hop, user, case.trusted) for hop in hops):
            ignored.append(str(path))
        elif final.is_file():
            return Answer(str(path), final.read_text(), ignored)
    return Answer(None, "", ignored)


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


def _is_safe(path: Path, user: int, trusted: Sequence[Path]) -> bool:
    return path.parent in trusted or all(_is_of(user, each) for each in (path.parent, path))


def _is_of(user: int, path: Path) -> bool:
    status = path.lstat()
    letters = stat.filemode(status.st_mode)
    is_closed = letters[0] == "l" or (letters[5] == "-" and letters[8] == "-")
    return status.st_uid in (user, ROOT) and is_closed


def answers(cases: Sequence[Case], user: int) -> Iterator[Answer]:
    """Yield what the engine finds, looked up by a process of the user."""
    lines = (json.dumps([str(c.folder), [*map(str, c.trusted)]]) for c in cases)
    found = subprocess.run(
        [sys.executable, "-W", "error", str(_CALLER), str(user), str(user)],
        input="\n".join(lines),
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 0, found.stderr
    for line in found.stdout.splitlines():
        file, ignored = json.loads(line)
        path, text = (None, "") if file is None else file
        yield Answer(path, text, ignored)


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
    outcomes = dict.fromkeys(("counts", "ignored", "both", "nothing"), 0)
    cases = [plant(base, f"{seed} {number}") for number in range(count)]
    counted = list[Path]()
    for user in users():
        for case, answer in zip(cases, answers(cases, user), strict=True):
            assert answer == expected(case, user), f"{case}, user {user}"
            has, lacks = answer.path is not None, bool(answer.ignored)
            names = {(1, 1): "both", (1, 0): "counts", (0, 1): "ignored", (0, 0): "nothing"}
            outcomes[names[has, lacks]] += 1
            if answer.path is not None and not case.trusted:
                file = Path(answer.path)
                final = file.resolve()
                counted += [file.parent, final.parent, final]
    if IS_ROOT:
        assert writable(counted) == ""
        # and the other user is one who can write somewhere
        assert writable([base, *(case.folder for case in cases)]) != ""
    return outcomes
