from __future__ import annotations

import types

from tallystick.formula import facts, formula, tree
from tallystick.plugins import author, spec

BUILT_BY_EVALUATORS = {"arms_of", "as_condition", "bind", "const", "leaves", "names", "param"}
BUILT_BY_EVALUATORS |= {"value_of", "walk"}
"""What evaluators of trees need, not their authors: a parameter comes from the decorator."""


def functions_of(module: types.ModuleType) -> set[str]:
    return {
        name
        for name, value in vars(module).items()
        if isinstance(value, types.FunctionType)
        and value.__module__ == module.__name__
        and not name.startswith("_")
    }


def test_the_names_are_sorted() -> None:
    constants = sorted(name for name in author.__all__ if name.isupper())
    classes = sorted(n for n in author.__all__ if n[0].isupper() and not n.isupper())
    functions = sorted(name for name in author.__all__ if name[0].islower())
    assert author.__all__ == constants + classes + functions
    assert len(set(author.__all__)) == len(author.__all__)


def test_every_name_that_the_module_holds_is_listed() -> None:
    # pytest adds names with an @ to the modules of a distribution that has a plugin for it
    held = {name for name in vars(author) if not name.startswith(("_", "@"))}
    assert held == set(author.__all__)


def test_an_author_can_write_every_fact_operator_and_kind_of_formula() -> None:
    offered = set(author.__all__)
    assert functions_of(tree) - BUILT_BY_EVALUATORS <= offered
    assert functions_of(formula) <= offered
    assert set(facts.READERS) <= offered


def test_every_name_says_what_it_is_for() -> None:
    undocumented = [
        name for name in author.__all__ if name[0].islower() and not getattr(author, name).__doc__
    ]
    assert undocumented == []


def test_every_hook_is_documented_and_belongs_to_the_interface() -> None:
    hooks = {name for name in vars(spec) if name.startswith("tallystick_")}
    assert hooks == {
        "tallystick_formulas",
        "tallystick_skill_types",
        "tallystick_requirements",
        "tallystick_rule_sets",
        "tallystick_strategies",
    }
    assert all(getattr(spec, hook).__doc__ for hook in hooks)
    assert author.API_VERSION == 1
