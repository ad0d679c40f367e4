"""Every fact, formula and requirement of the shipped rule sets, from their trees.

Where a page has the line `<!-- shipped rules -->`, they stand in its place. Run as a script, it
prints them:

    .venv/bin/python docs/shipped_rules.py
"""  # noqa: INP001  # an extension of Sphinx, found beside its configuration

import sys
from collections.abc import Iterator
from typing import Any

from sphinx.application import Sphinx

from tallystick.formula.facts import reader_of
from tallystick.formula.formula import Formula
from tallystick.formula.text import fact_text, leaf_text, lines, render
from tallystick.formula.tree import Node, leaves
from tallystick.numbers.nano import to_text
from tallystick.plugins.registry import Registry, installed
from tallystick.rules.digest import used_formulas
from tallystick.rules.loading import find, shipped
from tallystick.rules.reading import LoadedRuleSet, read

_MARK = "<!-- shipped rules -->"
_FACTS = """\
## Facts

An integer that is taken of a record. *Unit* says what it counts; *absent* is its value where the
record has nothing there, and a dash where a valid record always has something.
[Formulas](formulas.md#facts) say what each reader does.

| fact | reader | paths | unit | absent |
|---|---|---|---|---|
"""
_UNITS = {
    "nano": "10⁻⁹",
    "count": "1",
    "half_nano": "½ · 10⁻⁹",
    "truth": "1 or 0",
    "position": "position from 0",
}
_FORMULAS = """
## Formulas

By name and version, with the range of the result and of each parameter.
"""


def shipped_rules() -> str:
    """The sections of facts, formulas and requirements."""
    registry = installed()
    # read, not loaded: a load is logged, and the build of the site has to print nothing
    loaded = [read(find(name, registry).path, registry) for name in shipped(registry)]
    names = sorted({name for each in loaded for name in used_formulas(each.rule_set)})
    formulas = [registry.formulas[name] for name in names]
    conditions = {each.name: each for each in _requirements(loaded, registry)}
    parts = [_FACTS, *_facts(formulas, [each.condition for each in conditions.values()])]
    parts += [_FORMULAS, *(_formula(formula) for formula in formulas)]
    parts += ["\n## Requirements\n\nA record that breaks one is rejected with the code.\n\n"]
    parts += ["| requirement | code | holds where |\n|---|---|---|\n"]
    for name, each in sorted(conditions.items()):
        parts.append(f"| `{name}` | `{each.code}` | {_code(render(each.condition, _leaf))} |\n")
    return "".join(parts)


def _requirements(loaded: list[LoadedRuleSet], registry: Registry) -> Iterator[Any]:
    for each in loaded:
        for name, rules in each.rule_set.skill_types.items():
            yield from registry.skill_types[name].requirements
            yield from (registry.requirements[asked] for asked in rules.requires)


def _facts(formulas: list[Formula], conditions: list[Node]) -> Iterator[str]:
    trees = [tree for f in formulas for tree in (f.tree, f.applies) if tree is not None]
    facts = {f.digest: f for tree in (*trees, *conditions) for f in leaves(tree, "fact")}
    for fact in sorted(facts.values(), key=lambda each: (_leaf(each), each.digest)):
        fields = reader_of(fact).described(fact)
        paths = ", ".join(f"`{path}`" for path in fields["paths"])
        more = [f"options {', '.join(fields['options'])}"] if "options" in fields else []
        more += [f"pattern `{fields['pattern']}`"] if "pattern" in fields else []
        absent = fields["absent"]
        value = "–" if absent is None else to_text(absent) if fields["unit"] == "nano" else absent
        reader = "; ".join([f"`{fields['reader']}`", *more])
        text = _code(_leaf(fact))
        yield f"| {text} | {reader} | {paths} | {_UNITS[fields['unit']]} | {value} |\n"


def _formula(formula: Formula) -> str:
    symbol = f", {formula.symbol}" if formula.symbol else ""
    ends = f"{formula.low} to {formula.high}"
    text = "\n".join(lines(formula.symbol or formula.kind, formula.tree, _leaf))
    parameters = [f"`{name}` {low} to {high}" for name, (low, high) in formula.parameters.items()]
    found = (
        f"\n### {formula.name}\n\n{formula.kind.capitalize()}{symbol}, {ends}. {formula.summary}\n"
    )
    found += f"\nParameters: {', '.join(parameters)}.\n" if parameters else ""
    if formula.sums_to_one:
        found += "Those that must sum to 1: " + ", ".join(formula.sums_to_one) + ".\n"
    if formula.applies is not None:
        found += f"\nNull, which counts as 1, unless {fact_text(formula.applies)}.\n"
    return f"{found}\n```text\n{text}\n```\n\n`{formula.digest}`\n"


def _leaf(node: Node) -> str:
    """A fact as in the table, a parameter apart from facts of its name, or a published value."""
    if node.op != "fact":
        return f"p.{node.data[0]}" if node.op == "param" else leaf_text(node)
    folded = reader_of(node).described(node).get("letters") == "ascii-case-ignored"
    text = fact_text(node)
    return f"{text.removesuffix(']')}, ASCII case ignored]" if folded else text


def _code(text: str) -> str:
    """A text as code, in which only the end of a cell has a meaning."""
    return f"`{text.replace('|', chr(92) + '|')}`"


def _insert(_app: Sphinx, _page: str, source: list[str]) -> None:
    if _MARK in source[0]:
        source[0] = source[0].replace(_MARK, shipped_rules())


def setup(app: Sphinx) -> None:
    """Insert the rules when a page is read."""
    app.connect("source-read", _insert)


if __name__ == "__main__":
    sys.stdout.write(shipped_rules())
