"""Examples in docstrings (``>>>``) give what stands below them."""

import doctest
from importlib import import_module

import pytest
from packages import PACKAGES, module_of, sources

MODULES = [
    module_of(path)
    for package in PACKAGES
    for path in sources(package)
    if ">>> " in path.read_text("utf-8")
]


def failures(examples: doctest.DocTest) -> str:
    """Return what a run of the examples of one docstring reports; nothing if all are right."""
    report: list[str] = []
    doctest.DocTestRunner(verbose=False).run(examples, out=report.append)
    return "".join(report)


@pytest.mark.parametrize("module", MODULES)
def test_the_examples_of_a_module_are_right(module: str) -> None:
    found = doctest.DocTestFinder().find(import_module(module))
    assert any(docstring.examples for docstring in found), f"{module}: no example is found"
    assert "".join(map(failures, found)) == ""
