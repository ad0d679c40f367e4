"""What a check compares beside files, and how it tells it."""

import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import attrs
import pytest
from cli.command import HEAVY, run

import tallystick
from tallystick.errors import MOST_TOLD, InputError, LockError, TrustError
from tallystick.lock.check import HeldLock
from tallystick.lock.installed import VECTORS
from tallystick.lock.lock_file import Lock, read
from tallystick.lock.write import lock_of, write
from tallystick.plugins.registry import installed_plugins
from tallystick.rules.loading import load
from tallystick.rules.model import RuleSet

D = "sha256:" + "0" * 64
VERSION = version("tallystick")
HERE = Path("tallystick.lock")


CHANGES: dict[str, tuple[Callable[[Lock], Lock], str]] = {
    "the version of the engine": (
        lambda lock: attrs.evolve(lock, versions={**lock.versions, "tallystick": "9.9"}),
        f"the version of tallystick: found {VERSION}, locked 9.9",
    ),
    "a dependency": (
        lambda lock: attrs.evolve(lock, versions={**lock.versions, "numpy": "1.0"}),
        f"the version of numpy: found {__import__('numpy').__version__}, locked 1.0",
    ),
    "a distribution that is not there": (
        lambda lock: attrs.evolve(lock, versions={**lock.versions, "acme": "1.0"}),
        "the version of acme: found nothing, locked 1.0",
    ),
    "the vectors": (
        lambda lock: attrs.evolve(lock, files={**lock.files, VECTORS: D}),
        f"the file {VECTORS}: found sha256:",
    ),
    "a plugin that is not there": (
        lambda lock: attrs.evolve(lock, plugins={**lock.plugins, "acme": "acme.plugin"}),
        "the module of the plugin acme: found nothing, locked acme.plugin",
    ),
    "a module": (
        lambda lock: attrs.evolve(lock, plugins={**lock.plugins, "skills": "acme.plugin"}),
        "the module of the plugin skills: found tallystick_skills.plugin, locked acme.plugin",
    ),
    "a file that is gone": (
        lambda lock: attrs.evolve(lock, files={**lock.files, "tallystick/gone.py": D}),
        f"the file tallystick/gone.py: found nothing, locked {D}",
    ),
    "a file of states": (
        lambda lock: attrs.evolve(lock, state_files={**lock.state_files, "gone.py": D}),
        f"the file gone.py: found nothing, locked {D}",
    ),
}


@pytest.mark.parametrize("name", CHANGES)
def test_each_kind_of_difference_is_a_line(lock: Lock, name: str) -> None:
    change, told = CHANGES[name]
    found = [str(each) for each in HeldLock(HERE, change(lock)).differences()]
    assert len(found) == 1
    assert found[0].startswith(told)


def test_a_lock_of_what_is_installed_differs_in_nothing(lock: Lock) -> None:
    assert list(HeldLock(HERE, lock).differences()) == []
    HeldLock(HERE, lock).check()


def test_a_check_tells_what_differing_files_mean(lock: Lock) -> None:
    rules = lock.rule_sets["skills@1.1.0"]
    formulas = {**rules.formulas, "skills/detection@2": D}
    other = {**lock.rule_sets, "skills@1.1.0": attrs.evolve(rules, formulas=formulas, digest=D)}
    files = {**lock.files, VECTORS: D}
    with pytest.raises(LockError) as caught:
        HeldLock(Path("the.lock"), attrs.evolve(lock, rule_sets=other, files=files)).check()
    assert caught.value.code == "lock-differs"
    assert [each.what for each in caught.value.differences] == [f"the file {VECTORS}"]
    first, second = caught.value.meaning
    assert first.startswith("the formula skills/detection@2: found sha256:f03d")
    meaning = f"the meaning of the rule set skills@1.1.0: found {rules.digest}, locked {D}"
    assert second == meaning
    assert str(caught.value).splitlines()[0].startswith("the.lock: found other things")


def test_meanings_are_not_looked_at_where_files_are_equal(lock: Lock) -> None:
    rules = {name: attrs.evolve(each, digest=D) for name, each in lock.rule_sets.items()}
    HeldLock(HERE, attrs.evolve(lock, rule_sets=rules)).check()


OTHERS = {"tallystick.scoring.binding", "tallystick.rules.loading", "tallystick_skills"}


@pytest.mark.process
def test_a_check_loads_nothing_heavy_and_no_plugin(lock_file: Path) -> None:
    """So that it can stand before every command."""
    program = (
        "import sys; from tallystick.cli.main import cli\n"
        f"cli(['lock', '--check', {str(lock_file)!r}], standalone_mode=False)\n"
        f"print(*{(HEAVY | OTHERS) - {'jsonschema_rs'}!r}.intersection(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )
    assert done.stdout.splitlines()[-1] == ""
    assert "everything is as it is locked" in done.stdout


def test_of_many_differences_some_are_told_and_all_are_held(lock: Lock) -> None:
    files = dict.fromkeys(lock.files, D)
    with pytest.raises(LockError) as caught:
        HeldLock(Path("the.lock"), attrs.evolve(lock, files=files)).check()
    assert len(caught.value.differences) == len(files)
    assert f"\nand {len(files) - MOST_TOLD} more\n" in str(caught.value)


def test_a_rule_set_in_a_file_is_found_from_the_folder_of_the_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = load("workflow@1.1.0", tallystick.load("workflow@1.1.0").registry).text
    mine = tmp_path / "rules" / "mine.toml"
    mine.parent.mkdir()
    mine.write_text(text, encoding="utf-8")
    where = tmp_path / "my.lock"
    write(lock_of([tallystick.load(mine)], where.parent), where)
    lock = read(where)
    assert lock.rule_sets["workflow@1.1.0"].path == "rules/mine.toml"
    monkeypatch.chdir(mine.parent)
    assert run("lock", "--check", where).status == 0
    mine.write_bytes(text.replace("\n", "\r\n").encode())
    assert run("lock", "--check", where).status == 0
    mine.write_text(text + "# more\n", encoding="utf-8")
    found = run("lock", "--check", where)
    assert found.status == 1
    assert "the rule set workflow@1.1.0 in rules/mine.toml: found sha256:" in found.err
    mine.unlink()
    assert "mine.toml: found nothing, locked" in run("lock", "--check", where).err


def test_two_rule_sets_of_one_name_are_refused(tmp_path: Path) -> None:
    text = load("workflow@1.1.0", tallystick.load("workflow@1.1.0").registry).text
    mine = tmp_path / "mine.toml"
    mine.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=r"found two rule sets workflow@1\.1\.0"):
        lock_of([tallystick.load("workflow@1.1.0"), tallystick.load(mine)], tmp_path)


def test_a_rule_set_is_required_by_what_it_means(lock: Lock) -> None:
    held, rules = HeldLock(HERE, lock), load("skills@1.1.0", installed_plugins())
    held.require(rules)
    held.require(attrs.evolve(rules, rule_set=renamed(rules.rule_set)))
    with pytest.raises(TrustError, match=r"found the rule set skills@1\.1\.0 sha256:0") as caught:
        held.require(attrs.evolve(rules, digest=D))
    assert caught.value.code == "rules-not-locked"


def renamed(rule_set: RuleSet) -> RuleSet:
    return attrs.evolve(rule_set, rule_set=attrs.evolve(rule_set.rule_set, name="renamed"))
