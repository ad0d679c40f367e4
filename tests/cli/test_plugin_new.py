"""`tallystick plugins new`."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest
from cli.command import Finished, message_of, run

from tallystick_conformance.project import files_of, project


def all_below(folder: Path) -> dict[str, str]:
    """The text of every file of a folder, hidden ones too."""
    paths = [path for path in folder.rglob("*") if path.is_file()]
    return {path.relative_to(folder).as_posix(): path.read_text() for path in paths}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def new(*arguments: str | Path) -> Finished:
    return run("plugins", "new", *arguments)


def test_a_project_is_written_into_a_folder_of_its_name(folder: Path) -> None:
    assert new("acme-translation").status == 0
    assert [path.name for path in folder.iterdir()] == ["acme-translation"]
    assert all_below(folder / "acme-translation") == files_of(project("acme-translation"))


@pytest.mark.parametrize("there", [False, True], ids=["new", "empty"])
def test_the_folder_and_the_type_can_be_given(folder: Path, there: bool) -> None:
    place = folder / "place"
    if there:
        place.mkdir()
    assert new("acme", "--type", "acme/answers", "--output", place).status == 0
    assert all_below(place) == files_of(project("acme", "acme/answers"))


def test_people_are_told_what_to_do_next() -> None:
    said = new("acme").out.splitlines()
    assert said[0] == "acme: 18 files in acme"
    assert said[2:] == [
        "    pip install --editable '.[test]'",
        "    pytest",
        "    tallystick plugins check .",
    ]


def test_the_parts_of_the_rule_set_can_be_chosen(folder: Path) -> None:
    assert new("few", "--with", "emission, allocation").status == 0
    assert all_below(folder / "few") == files_of(project("few", None, ["emission", "allocation"]))
    assert new("bare", "--with", "none").out.splitlines()[0] == "bare: 17 files in bare"
    message = message_of(new("other", "--with", "tiers,emision"))
    assert "found the part 'emision'; did you mean 'emission'?, expected some of tiers" in message
    assert not (folder / "other").exists()


def test_machines_are_told_which_files_there_are(folder: Path) -> None:
    found = new("acme", "-o", folder / "place", "--json").json()
    files = sorted(files_of(project("acme")))
    assert found == {"project": str(folder / "place"), "files": files}


def test_the_files_are_those_of_any_new_folder(folder: Path) -> None:
    new("acme")
    (folder / "other").mkdir()
    (folder / "other" / "file").touch()
    for made, other in [("acme", "other"), ("acme/README.md", "other/file")]:
        assert (folder / made).stat().st_mode == (folder / other).stat().st_mode


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["Acme"], "found the name 'Acme', expected at most 64 lower-case letters"),
        (["acme", "-o", "full"], "full: found 'a' in the folder, expected a new or an empty one"),
        (["acme", "-o", "hidden"], "hidden: found '.git' in the folder"),
        (["acme", "-o", "full/a"], "full/a: found a file, expected the name of a folder"),
        (["acme", "-o", "nowhere/acme"], "nowhere/acme: the file cannot be written (no such file"),
        (["acme", "-o", "."], ".: found the folder in which you are, expected a new one"),
    ],
)
def test_a_mistake_is_told_and_nothing_is_written(
    folder: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], expected: str
) -> None:
    (folder / "full").mkdir()
    (folder / "full" / "a").write_text("kept")
    (folder / "here").mkdir()
    (folder / "hidden" / ".git").mkdir(parents=True)
    if "." in arguments:
        monkeypatch.chdir(folder / "here")
    before = all_below(folder)
    found = new(*arguments, "--json")
    assert all_below(folder) == before
    assert sorted(path.name for path in folder.iterdir()) == ["full", "here", "hidden"]
    assert message_of(found).startswith(expected)
    assert found.json()["message"] == message_of(found)


def test_a_full_disk_leaves_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = Path.write_text
    seen: list[Path] = []

    def full(path: Path, text: str, **options: str) -> int:
        seen.append(path)
        if len(seen) == 5:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(path, text, **options)

    monkeypatch.setattr(Path, "write_text", full)
    assert message_of(new("acme")).startswith("acme: the file cannot be written (no space left")
    assert len(seen) == 5
    assert list(folder.iterdir()) == []
