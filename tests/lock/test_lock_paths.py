"""The file of a rule set lies in or below the folder of its lock, and is read as a rule set is."""

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from random import Random

import attrs
import pytest
from cli.command import run

import tallystick
from tallystick.errors import InputError
from tallystick.io.documents import LARGEST
from tallystick.lock.check import NO_RULE_SET, NOTHING, HeldLock
from tallystick.lock.lock_file import parse, read
from tallystick.lock.write import lock_of, write

SECRET = b"root:$6$salt$secret:19000:0:99999:7:::\n"
SECRET_DIGEST = hashlib.sha256(SECRET).hexdigest()
REFERENCE = "workflow@1.1.0"


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    """A rule set in a file, in the folder of a lock of it."""
    path = tmp_path / "locks" / "mine.toml"
    path.parent.mkdir()
    path.write_text(tallystick.load(REFERENCE).loaded.text, encoding="utf-8")
    write(lock_of([tallystick.load(path)], path.parent), path.parent / "my.lock")
    return path


def _link_out(path: Path) -> None:
    secret = path.parent.parent / "secret"
    secret.write_bytes(SECRET)
    path.symlink_to(secret)


def _folder_link_out(path: Path) -> None:
    outside = path.parent.parent / "outside"
    outside.mkdir()
    (outside / "mine.toml").write_bytes(SECRET)
    (path.parent / "inside").symlink_to(outside)
    path.symlink_to("inside/mine.toml")


def _broken(path: Path) -> None:
    path.write_bytes(b'password = "' + SECRET.strip() + b'"\nrule_set = [\n')


PLANTED: dict[str, Callable[[Path], object]] = {
    "a secret": lambda path: path.write_bytes(SECRET),
    "another TOML file": lambda path: path.write_bytes(b'[login]\npassword = "s3cret"\n'),
    "broken TOML": _broken,
    "a folder": Path.mkdir,
    "a pipe": os.mkfifo,
    "a device": lambda path: path.symlink_to("/dev/zero"),
    "a link out of the folder": _link_out,
    "a link through a folder": _folder_link_out,
    "a link to itself": lambda path: path.symlink_to(path.name),
    "more than a rule set may have": lambda path: path.write_bytes(b"#" * (LARGEST + 1)),
    "bytes that are no text": lambda path: path.write_bytes(b"\xff\xfe"),
}


@pytest.mark.parametrize(
    ("kind", "option"), [*((kind, ()) for kind in PLANTED), ("a secret", ("--self-test",))]
)
def test_of_what_is_no_rule_set_nothing_is_told(
    mine: Path, kind: str, option: tuple[str, ...]
) -> None:
    mine.unlink()
    PLANTED[kind](mine)
    found = run("lock", "--check", mine.parent / "my.lock", *option)
    assert found.status == (2 if option else 1)
    assert "mine.toml: found no rule set, " in found.err
    told = found.out + found.err
    assert not any(word in told for word in ("secret", "s3cret", "password", "$6$", SECRET_DIGEST))
    content = mine.read_bytes() if kind == "a secret" else SECRET
    assert hashlib.sha256(content).hexdigest() not in told


def test_a_rule_set_that_lies_elsewhere_is_not_locked(mine: Path) -> None:
    elsewhere = mine.parent.parent / "other" / "my.lock"
    elsewhere.parent.mkdir()
    found = run("lock", "--rules", mine, "-o", elsewhere)
    assert found.status == 2
    assert found.err == (
        f"error: {mine}: found a rule set outside of {elsewhere.parent}, the folder of the lock, "
        "expected one in or below it: copy it there, or write the lock beside it by -o\n"
    )
    assert not elsewhere.exists()
    link = elsewhere.parent / "link.toml"
    link.symlink_to(mine)
    assert run("lock", "--rules", link, "-o", elsewhere).status == 2
    above = mine.parent.parent / "above.lock"
    assert run("lock", "--rules", mine, "-o", above).status == 0
    assert read(above).rule_sets[REFERENCE].path == "locks/mine.toml"


def test_a_rule_set_that_was_changed_still_says_how(mine: Path) -> None:
    text = mine.read_text()
    mine.write_text(text.replace("summary", "sumary"))
    found = run("lock", "--check", mine.parent / "my.lock")
    assert found.status == 1
    assert "mine.toml: found sha256:" in found.err
    assert "does not load" in found.err


@pytest.mark.nightly
def test_no_path_of_a_lock_is_read_outside_of_its_folder(mine: Path) -> None:
    random, folder = Random(7), mine.parent
    _link_out(folder / "out")
    (folder / "above").symlink_to("..")
    (folder / "self").symlink_to(".")
    (folder / "a").mkdir()
    (folder / "a" / "mine.toml").symlink_to("../mine.toml")
    (folder / "text.toml").write_bytes(SECRET)
    os.mkfifo(folder / "a" / "pipe")
    names = ("a", "self", "above", "out", "..", ".", "", "locks", "secret", "mine.toml", "pipe")
    lock = read(folder / "my.lock")
    outcomes = set[str]()
    for _ in range(10_000):
        path = "/".join(random.choices((*names, "text.toml", "absent"), k=random.randint(1, 5)))
        real = Path(os.path.realpath(folder / path)) if path else folder
        rules = attrs.evolve(lock.rule_sets[REFERENCE], path=path)
        text = attrs.evolve(lock, rule_sets={REFERENCE: rules}).to_text().encode()
        if not path or path.startswith("/") or ".." in path.split("/"):
            with pytest.raises(InputError):
                parse(text, "the.lock")
            outcomes.add("refused")
            continue
        differences = HeldLock(folder / "the.lock", parse(text, "the.lock")).differences()
        told = [each for each in differences if "in " in each.what]
        is_mine = real == mine.resolve()
        assert [each.found for each in told if each.found not in {NO_RULE_SET, NOTHING}] == []
        assert bool(told) != is_mine, path
        outcomes.add(told[0].found if told else "the same")
    assert outcomes == {"refused", "the same", NO_RULE_SET, NOTHING}
