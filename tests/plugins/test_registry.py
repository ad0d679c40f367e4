from __future__ import annotations

import itertools
from importlib import import_module
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
from installations import entry, module

from tallystick.plugins.author import (
    UNIT,
    Formula,
    Generator,
    Requirement,
    SkillType,
    Strategy,
    axis,
    integer,
    require,
)
from tallystick.plugins.entries import ALLOWED, PROJECT, allowed_names
from tallystick.plugins.registry import (
    InstalledPlugins,
    Registry,
    registry,
    united,
    with_modules,
)

Patch = pytest.MonkeyPatch
OWN = ["allocation", "consensus", "reward", "skills", "workflow"]
"""The plugins of the project itself, which are always used."""


def formula(name: str) -> Formula:
    return axis(name, k=UNIT)(lambda p: p.k)


def skill_type(name: str) -> SkillType:
    return SkillType(name=name, schema=Path(f"{name}.schema.json"))


def requirement(name: str) -> Requirement:
    return require(integer("a") > 0, name, path="a", expected="more")


@pytest.fixture
def good(monkeypatch: Patch) -> EntryPoint:
    """A plugin that offers one of each."""
    target = module(
        "acme_good",
        monkeypatch,
        formulas=[formula("acme/one@1"), formula("acme/one@2")],
        skill_types=(skill_type("acme"),),
        requirements=[requirement("acme/positive")],
        rule_sets=[Path("rules")],
    )
    return entry("acme", target, "acme-scores")


def refusal(found: Registry, name: str) -> str:
    assert list(found.refused) == [name]
    return found.refused[name]


def offered(found: Registry) -> list[str]:
    """The formulas of plugins."""
    return [*found.formulas]


def test_what_a_plugin_offers_is_found_by_name(good: EntryPoint) -> None:
    found = registry([good])
    assert found.refused == {}
    assert list(found.plugins) == ["acme"]
    assert (found.plugins["acme"].distribution, found.plugins["acme"].version) == (
        "acme-scores",
        "1.0",
    )
    assert offered(found) == ["acme/one@1", "acme/one@2"]
    assert list(found.skill_types) == ["acme"]
    assert list(found.requirements) == ["acme/positive"]
    assert found.rule_set_folders == {"acme": (Path("rules"),)}


def test_a_module_that_is_not_installed_is_used_by_the_name_that_it_is_given(
    monkeypatch: Patch, good: EntryPoint
) -> None:
    monkeypatch.setenv(ALLOWED, "workflow")
    found = with_modules({"acme": good.value}).every()
    assert (list(found.plugins), found.refused) == ([*OWN, "acme"], {})
    assert offered(with_modules({"acme": good.value}).of(["acme"])) == [
        "acme/one@1",
        "acme/one@2",
    ]
    own = with_modules({"workflow": good.value}).every()
    assert own.plugins["workflow"].module == "tallystick_workflow.plugin"
    assert list(own.refused) == ["workflow"]


def test_the_engines_own_come_first_then_name_order(monkeypatch: Patch) -> None:
    entries = [
        entry("zeta", module("m_zeta", monkeypatch), "tallystick"),
        entry("beta", module("m_beta", monkeypatch), "tallystick"),
        entry("alpha", module("m_alpha", monkeypatch), "acme"),
        entry("gamma", module("m_gamma", monkeypatch)),
    ]
    for order in itertools.permutations(entries):
        assert list(registry(order).plugins) == ["beta", "zeta", "alpha", "gamma"]


def test_two_distributions_that_offer_one_name_are_refused_both(
    monkeypatch: Patch, good: EntryPoint
) -> None:
    other = module("acme_other", monkeypatch, formulas=[formula("acme/other@1")])
    fine = entry("fine", module("acme_fine", monkeypatch, formulas=[formula("fine/one@1")]))
    for order in ([good, second := entry("acme", other, "zzz"), fine], [fine, second, good]):
        found = registry(order)
        assert offered(found) == ["fine/one@1"]
        assert refusal(found, "acme") == (
            "the distributions 'acme-scores' and 'zzz' both offer a plugin of this name, and none "
            "is used: uninstall one"
        )


def test_a_name_of_the_engines_own_plugin_cannot_be_taken(monkeypatch: Patch) -> None:
    formulas = [formula("skills/own@1")], [formula("skills/thief@1")]
    own = entry("skills", module("m_own", monkeypatch, formulas=formulas[0]), "tallystick")
    thief = entry("skills", module("m_thief", monkeypatch, formulas=formulas[1]), "aaa")
    found = registry([thief, own])
    assert offered(found) == ["skills/own@1"]
    assert "'aaa' and 'tallystick' both offer a plugin of this name" in refusal(found, "skills")


def test_a_skill_type_whose_name_is_taken_is_refused(monkeypatch: Patch, good: EntryPoint) -> None:
    target = module("acme_late", monkeypatch, skill_types=[skill_type("acme")])
    found = registry([good, entry("late", target)])
    expected = "skill types have names that are taken: acme (of the plugin acme)"
    assert expected in refusal(found, "late")
    assert list(found.plugins) == ["acme"]


@pytest.mark.parametrize(
    ("hook", "offer"),
    [
        ("formulas", formula("acme/one@3")),
        ("formulas", formula("late-/one@1")),
        ("skill_types", skill_type("acme/other")),
        ("requirements", requirement("acme/positive")),
        ("requirements", requirement("positive")),
    ],
)
def test_an_offer_under_the_name_of_another_plugin_or_of_none_is_refused(
    monkeypatch: Patch, good: EntryPoint, hook: str, offer: Formula | SkillType | Requirement
) -> None:
    offers = {"formulas": [formula("late/fresh@1")]}
    offers[hook] = [*offers.get(hook, []), offer]
    found = registry([good, entry("late", module("acme_late", monkeypatch, **offers))])
    assert refusal(found, "late") == (
        f"found that it offers {offer.name}, expected names that begin with late/, the name of its "
        "entry point: rename them, or the entry point"
    )
    assert list(found.plugins) == ["acme"]
    assert "late/fresh@1" not in found.formulas


def test_an_offer_that_is_made_twice_is_refused(monkeypatch: Patch, good: EntryPoint) -> None:
    offers = [formula("twice/b@1"), formula("twice/b@1")]
    found = registry([good, entry("twice", module("acme_twice", monkeypatch, formulas=offers))])
    assert refusal(found, "twice") == "its formulas have names that are taken: twice/b@1"
    assert list(found.plugins) == ["acme"]


@pytest.mark.parametrize("api", [None, 0, 2, "1", "1.0", True, 1.0])
def test_another_version_of_the_interface_is_refused(
    monkeypatch: Patch, good: EntryPoint, api: object
) -> None:
    found = registry([good, entry("old", module("acme_old", monkeypatch, api=api))])
    assert f"found tallystick_api = {api!r} in acme_old, expected 1" in refusal(found, "old")
    assert "install a version of the plugin for this engine" in found.refused["old"]
    assert list(found.plugins) == ["acme"]


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("raise RuntimeError('no database')", "RuntimeError: no database"),
        ("import acme_is_not_installed", "ModuleNotFoundError: No module named"),
        ("raise SystemExit(3)", "SystemExit: 3"),
        ("raise GeneratorExit", "GeneratorExit"),
        ("class Odd(BaseException): ...\nraise Odd('odd')", "Odd: odd"),
        ("def broken(:", "SyntaxError"),
        (
            "from tallystick.plugins.author import axis\naxis('a/b@1')(lambda p: 0.5)",
            "FloatError: found 0.5 in a formula",
        ),
    ],
)
def test_a_plugin_that_cannot_be_imported_is_refused(
    monkeypatch: Patch, tmp_path: Path, good: EntryPoint, source: str, reason: str
) -> None:
    (tmp_path / "acme_unimportable.py").write_text(source, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    found = registry([good, entry("broken", "acme_unimportable")])
    assert refusal(found, "broken").startswith("its import failed: ")
    assert reason in found.refused["broken"]
    assert list(found.plugins) == ["acme"]


def test_a_plugin_that_is_not_there_is_refused(good: EntryPoint) -> None:
    found = registry([good, entry("gone", "acme_not_there"), entry("odd", "sys:not_there")])
    assert list(found.refused) == ["gone", "odd"]
    assert "its import failed: AttributeError" in found.refused["odd"]


def test_an_entry_point_that_names_no_module_is_refused(good: EntryPoint) -> None:
    found = registry([good, entry("odd", "not a module!")])
    assert refusal(found, "odd").startswith("found the entry point 'not a module!', expected a")
    assert list(found.plugins) == ["acme"]


def test_what_an_import_prints_is_no_output(
    monkeypatch: Patch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = "tallystick_api = 1\nprint('hello')\n"
    (tmp_path / "acme_talks.py").write_text(source, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    assert list(registry([entry("talks", "acme_talks")]).plugins) == ["talks"]
    assert capsys.readouterr() == ("", "hello\n")


def test_a_user_who_interrupts_an_import_is_heard(monkeypatch: Patch, tmp_path: Path) -> None:
    (tmp_path / "acme_slow.py").write_text("raise KeyboardInterrupt", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        registry([entry("slow", "acme_slow")])


def test_a_hook_that_is_misspelt_is_refused(monkeypatch: Patch, good: EntryPoint) -> None:
    found = registry([good, entry("typo", module("acme_typo", monkeypatch, formulae=[]))])
    assert "unknown hook 'tallystick_formulae'" in refusal(found, "typo")


def test_a_hook_with_an_argument_of_its_own_is_refused(
    monkeypatch: Patch, good: EntryPoint
) -> None:
    wants = module("acme_wants", monkeypatch, formulas=lambda config: [config])
    found = registry([good, entry("wants", wants)])
    assert "one of its hooks failed: PluginValidationError" in refusal(found, "wants")


def _raises() -> object:
    raise KeyError("lost")


def _leaves() -> object:
    raise SystemExit(1)


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (_raises, "one of its hooks failed: KeyError: 'lost'"),
        (_leaves, "one of its hooks failed: SystemExit: 1"),
        (lambda: 5, "one of its hooks failed: TypeError"),
        (lambda: formula("a/b@1"), "one of its hooks failed: TypeError"),
        (["a/b@1"], "found 'a/b@1' in a hook's answer, expected"),
        ("text", "found 't' in a hook's answer, expected"),
        ([None], "found None in a hook's answer, expected"),
        ([formula], "in a hook's answer, expected"),
        (lambda: [SkillType(5, Path())], "found 5 for name of SkillType, expected str"),
        (lambda: [SkillType("", Path())], "found the skill type '', expected lower-case letters"),
        (lambda: [SkillType("a", None)], "found None for schema of SkillType, expected Path"),
        (lambda: [SkillType("a", Path(), "", (3,))], "found 3 for requirements of SkillType"),
        (lambda: [SkillType("a", Path(), "", None)], "expected a tuple of Requirement"),
        (lambda: [Strategy(5, "", (), print)], "found 5 for name of Strategy, expected str"),
        (lambda: [Generator(print, print, 4)], "found 4 for checks of Generator, expected a"),
    ],
)
@pytest.mark.parametrize("hook", ["formulas", "skill_types", "requirements", "rule_sets"])
def test_a_hook_that_fails_or_answers_something_else_is_refused(
    monkeypatch: Patch, good: EntryPoint, hook: str, answer: object, reason: str
) -> None:
    found = registry([good, entry("bad", module("acme_bad", monkeypatch, **{hook: answer}))])
    assert reason in refusal(found, "bad")
    assert list(found.plugins) == ["acme"]


def test_only_the_plugins_that_are_allowed_are_imported(
    monkeypatch: Patch, tmp_path: Path, good: EntryPoint
) -> None:
    (tmp_path / "acme_noisy.py").write_text("raise AssertionError", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    found = registry([good, entry("noisy", "acme_noisy")], frozenset({"acme"}))
    assert (list(found.plugins), found.refused) == (["acme"], {})


def test_a_plugin_that_is_allowed_but_not_installed_is_named(good: EntryPoint) -> None:
    found = registry([good], frozenset({"acme", "lost"}))
    assert refusal(found, "lost") == f"{ALLOWED} names it, but no installed distribution offers it"


@pytest.mark.parametrize(
    ("value", "strangers"),
    [
        (None, ["acme", "beta"]),
        ("", ["acme", "beta"]),
        (" ", ["acme", "beta"]),
        ("beta", ["beta"]),
        (" beta , skills,", ["beta"]),
        ("skills", []),
    ],
)
def test_the_environment_names_the_only_strangers_to_load(
    monkeypatch: Patch, value: str | None, strangers: list[str]
) -> None:
    """Plugins of the project itself are always used."""
    if value is None:
        monkeypatch.delenv(ALLOWED, raising=False)
    else:
        monkeypatch.setenv(ALLOWED, value)
    own = [entry(name, module(f"own_{name}", monkeypatch), PROJECT) for name in OWN]
    others = [entry(name, module(f"other_{name}", monkeypatch), name) for name in ("acme", "beta")]
    found = registry([*others, *own], allowed_names())
    assert list(found.plugins) == [*OWN, *strangers]


def test_a_hook_that_is_not_marked_is_refused(monkeypatch: Patch) -> None:
    target = module("acme_unmarked", monkeypatch)
    unmarked = import_module(target)
    monkeypatch.setattr(unmarked, "tallystick_formulas", lambda: [formula("a/b@1")], raising=False)
    assert registry([entry("unmarked", target)]).plugins == {}


def test_what_two_readers_load_of_one_module_is_one_plugin(good: EntryPoint) -> None:
    one, two = InstalledPlugins([good]).every(), InstalledPlugins([good]).every()
    assert one.plugins["acme"] is not two.plugins["acme"]
    assert united([one, two]).plugins == one.plugins
