"""Ways in which somebody else can write a settings file or a lock; each returns how it is told."""

import os
from collections.abc import Callable
from pathlib import Path

OTHER = 61_002


def open_folder(folder: Path) -> str:
    folder.chmod(0o777)
    return "as everyone can write to its folder"


def _sticky_folder(folder: Path) -> str:
    folder.chmod(0o1777)
    return "as everyone can write to its folder"


def _open_file(folder: Path) -> str:
    next(folder.glob("tallystick.*")).chmod(0o664)
    return "as a group can write to it"


def _folder_of_another(folder: Path) -> str:
    os.chown(folder, OTHER, OTHER)
    return f"as its folder belongs to the user {OTHER}"


def _file_of_another(folder: Path) -> str:
    os.chown(next(folder.glob("tallystick.*")), OTHER, OTHER)
    return f"as it belongs to the user {OTHER}"


def link_to_another(folder: Path) -> str:
    path = next(folder.glob("tallystick.*"))
    theirs = folder / "theirs"
    theirs.mkdir()
    path = path.rename(theirs / path.name)
    (folder / path.name).symlink_to(path)
    theirs.chmod(0o777)
    return "as everyone can write to its folder"


# who is not root gives no file to another user
_BY_ROOT = [_folder_of_another, _file_of_another] if os.geteuid() == 0 else []
WAYS = [open_folder, _sticky_folder, _open_file, link_to_another, *_BY_ROOT]
Way = Callable[[Path], str]
