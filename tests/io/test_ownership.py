"""A file that is looked up is asked and read by one descriptor, whatever changes meanwhile."""

import os
import threading
from pathlib import Path

import pytest

from tallystick.io import ownership
from tallystick.io.ownership import FoundFile, look_up

NAME, SIZE = "tallystick.toml", 4096


@pytest.mark.nightly
def test_a_folder_that_is_exchanged_meanwhile_gives_no_file_of_another(tmp_path: Path) -> None:
    top, is_over = tmp_path.resolve(), threading.Event()
    for name, mode in (("mine", 0o755), ("theirs", 0o777)):
        (top / name).mkdir()
        (top / name / NAME).write_text(name)
        (top / name).chmod(mode)
        (top / f"to-{name}").symlink_to(name)

    def exchange() -> None:
        while not is_over.is_set():
            for name in ("mine", "theirs"):
                (top / "next").symlink_to(name)
                (top / "next").replace(top / "now")

    (top / "now").symlink_to("mine")
    exchanging = threading.Thread(target=exchange)
    exchanging.start()
    try:
        found = [look_up(top / "now", NAME, SIZE) for _ in range(3000)]
    finally:
        is_over.set()
        exchanging.join()
    outcomes = {(file.data, file.objection) for file in found if file is not None}
    assert outcomes <= {(b"mine", None), (b"", "everyone can write to its folder")}
    assert None not in found


def test_what_becomes_a_file_of_another_between_look_and_read_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / NAME
    path.write_text("mine")
    opened = os.open

    def late(name: str, *arguments: int, **options: int) -> int:
        if name == NAME:
            path.chmod(0o666)
        return opened(name, *arguments, **options)

    monkeypatch.setattr(ownership.os, "open", late)
    expected = FoundFile(path, b"", "everyone can write to it")
    assert look_up(tmp_path.resolve(), NAME, SIZE) == expected


def test_where_owners_are_unknown_no_file_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(os, "geteuid")
    assert look_up(tmp_path, NAME, SIZE) is None
    (tmp_path / NAME).write_text("mine")
    found = look_up(tmp_path, NAME, SIZE)
    assert found is not None
    assert found.objection == "who can write to it is not known on this system"


def test_no_more_is_read_than_is_asked_for(tmp_path: Path) -> None:
    (tmp_path / NAME).write_bytes(b"x" * 100)
    found = look_up(tmp_path.resolve(), NAME, 10)
    assert found is not None
    assert found.data == b"x" * 10
