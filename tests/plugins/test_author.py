from __future__ import annotations

import types

from tallystick.formula import facts, formula, tree
from tallystick.plugins import author

BUILT_BY_EVALUATORS = {"arms_of", "as_condition", "bind", "const", "leaves", "names", "param"}
BUILT_BY_EVALUATORS |= {"factors_of", "facts_in", "value_of", "walk", "weights_of"}
"""What evaluators of trees need, not their authors: a parameter comes from the decorator."""


def functions_of(module: types.ModuleType) -> set[str]:
    return {
        name
        for name, value in vars(module).items()
        if isinstance(value, types.FunctionType)
        and value.__module__ == module.__name__
        and not name.startswith("_")
    }


def test_every_name_that_the_module_holds_is_listed() -> None:
    # pytest adds names with an @ to the modules of a distribution that has a plugin for it
    held = {name for name in vars(author) if not name.startswith(("_", "@"))}
    assert held == set(author.__all__)


def test_an_author_can_write_every_fact_operator_and_kind_of_formula() -> None:
    offered = set(author.__all__)
    assert functions_of(tree) - BUILT_BY_EVALUATORS <= offered
    assert functions_of(formula) <= offered
    assert set(facts.READERS) <= offered
