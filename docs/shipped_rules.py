"""Make the page of the shipped rules from the trees of their formulas.

    .venv/bin/python docs/shipped_rules.py

writes ``shipped-rules.md``: it cannot say anything else than what is computed.
"""  # noqa: INP001  # a script

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tallystick.formula.facts import reader_of
from tallystick.formula.formula import Formula
from tallystick.formula.text import fact_text, leaf_text, lines, render
from tallystick.formula.tree import Node, leaves
from tallystick.numbers.nano import to_text
from tallystick.plugins.registry import Registry, installed
from tallystick.rules.digest import used_formulas
from tallystick.rules.loading import load, shipped
from tallystick.rules.reading import LoadedRuleSet

PAGE = Path(__file__).with_name("shipped-rules.md")

_HEAD = """\
# The shipped rules

Every fact and formula of the rule sets that ship. With the files of the rule sets, which have every
number and beside it its source, nothing else is needed to compute them: `tallystick rules show`
prints one, `tallystick rules diff` what a version changes, and [errata](errata.md) say why. The
page is made from the trees by `docs/shipped_rules.py`; [in another language](canonical.md) says in
which order they are computed. Each published value is a whole count of 10⁻⁹, rounded half-even
once.

In formulas `|x|` of a list is how many items it has, `∩` what two lists share, `Σ` a sum; a
condition in brackets counts as 1 where it holds and as 0 elsewhere; `p.` stands before a parameter,
which has its value from the rule set.
"""
_FACTS = """
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


def page() -> str:
    """The text of the page."""
    registry = installed()
    loaded = [load(name, registry) for name in shipped(registry)]
    names = sorted({name for each in loaded for name in used_formulas(each.rule_set)})
    formulas = [registry.formulas[name] for name in names]
    conditions = {each.name: each for each in _requirements(loaded, registry)}
    parts = [_HEAD, _FACTS, *_facts(formulas, [each.condition for each in conditions.values()])]
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


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
