"""Make the page of the shipped rules from the trees and the files of the rule sets.

    .venv/bin/python docs/shipped_rules.py

writes ``shipped-rules.md``. Formulas are printed from their trees, numbers and their sources from
the rule-set files, so the page cannot say anything else than what is computed.
"""  # noqa: INP001  # a script

import re
from collections.abc import Iterator, Mapping
from itertools import groupby, pairwise
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
from tallystick.rules.toml import KeyPath, parse

PAGE = Path(__file__).with_name("shipped-rules.md")

_HEAD = """\
# The shipped rules

Every formula, number, unit and source of the rule sets that ship, so that nothing else is needed to
compute them. The page is made from the trees and the files by `docs/shipped_rules.py`; [in another
language](canonical.md) says in which order they are computed, [errata](errata.md) why the versions
differ. Each published value is a whole count of 10⁻⁹, rounded half-even once.

The order is that of a record: [facts](#facts), [formulas](#formulas), and the numbers of each
[rule set](#rule-sets). In formulas `|x|` of a list is how many items it has, `∩` what two lists
share, `Σ` a sum; a condition in brackets counts as 1 where it holds and as 0 elsewhere; `p.` stands
before a parameter, which has its value from the rule set.
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
_RULE_SETS = """
## Rule sets

Every value of the files; of a later version those that differ from the one before. *Source* is
where it comes from: a published document and its section, which [sources](sources.md) has; an
E-number, which is a row of the [errata](errata.md#every-decision); or *terms*, their table of what
stands on other pages.
"""


_SOURCES = Path(__file__).with_name("sources.md").read_text(encoding="utf-8")
_SECTIONS = sorted(re.findall(r"^### (.+)$", _SOURCES, re.MULTILINE), key=len, reverse=True)
_CITATION = re.compile(rf"(\w+\.(?:txt|md)), ({'|'.join(map(re.escape, _SECTIONS))})")


def page() -> str:
    """The text of the page."""
    registry = installed()
    loaded = [load(name, registry) for name in shipped(registry)]
    names = sorted({name for each in loaded for name in used_formulas(each.rule_set, registry)})
    formulas = [registry.formulas[name] for name in names]
    conditions = {each.name: each for each in _requirements(loaded, registry)}
    parts = [_HEAD, _FACTS, *_facts(formulas, [each.condition for each in conditions.values()])]
    parts += [_FORMULAS, *(_formula(formula) for formula in formulas)]
    parts += ["\n## Requirements\n\nA record that breaks one is rejected with the code.\n\n"]
    parts += ["| requirement | code | holds where |\n|---|---|---|\n"]
    for name, each in sorted(conditions.items()):
        parts.append(f"| `{name}` | `{each.code}` | {_code(render(each.condition, _leaf))} |\n")
    parts += [_RULE_SETS, _rule_set(loaded[0], None)]
    parts += [_rule_set(each, _same_line(each, before)) for before, each in pairwise(loaded)]
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


def _same_line(loaded: LoadedRuleSet, before: LoadedRuleSet) -> LoadedRuleSet | None:
    """The rule set before, where it is an earlier version of the same."""
    return before if before.rule_set.rule_set.name == loaded.rule_set.rule_set.name else None


def _rule_set(loaded: LoadedRuleSet, earlier: LoadedRuleSet | None) -> str:
    """A rule set: every value, or those in which it differs from an earlier version."""
    header = loaded.rule_set.rule_set
    values = _sourced(loaded)
    head = f"\n### {loaded.rule_set.reference}\n\n{header.summary}.\n\n`{loaded.digest}`\n\n"
    if earlier is not None:
        before = _sourced(earlier)
        head += f"The values of {earlier.rule_set.reference}, but for these.\n\n"
        gone = {path: ("–", "gone") for path in before if path not in values}
        values = {path: each for path, each in values.items() if each != before.get(path)} | gone
    rows = _linked("".join(_rows(values)))
    return f"{head}| path | value | source |\n|---|---|---|\n{rows}"


def _rows(values: Mapping[KeyPath, tuple[str, str]]) -> Iterator[str]:
    """One row for the values of a table that stand together and have one source."""
    of_table = groupby(values.items(), lambda item: (item[0][:-1], item[1][1]))
    for (table, source), found in of_table:
        items = [(path, value) for path, (value, _) in found]
        several = ", ".join(f"{path[-1]} = {value}" for path, value in items)
        path, text = (table, several) if len(items) > 1 else items[0]
        yield f"| `{_name(path)}` | {_cell(text)} | {_cell(source)} |\n"


def _sourced(loaded: LoadedRuleSet) -> dict[KeyPath, tuple[str, str]]:
    """Every value that decides something, and where it comes from, by its path."""
    data = parse(loaded.text, str(loaded.path)).data
    return {
        path: (value, _source(loaded, path))
        for path, value in _values(data, ())
        if path[0] not in ("rule_set", "lint")
    }


def _name(path: KeyPath) -> str:
    return ".".join(map(str, path))


def _values(value: Any, path: KeyPath) -> Iterator[tuple[KeyPath, str]]:  # noqa: ANN401  # a value of TOML
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _values(inner, (*path, key))
    elif isinstance(value, list) and value and isinstance(value[0], Mapping):
        for place, inner in enumerate(value):
            yield from _values(inner, (*path, place))
    elif isinstance(value, list):
        yield path, ", ".join(map(str, value))
    else:
        yield path, str(value).lower() if isinstance(value, bool) else str(value)


def _source(loaded: LoadedRuleSet, path: KeyPath) -> str:
    """The comment beside a value; of one without, that of the table that it stands in."""
    text = loaded.text.splitlines()
    while path:
        line = text[loaded.positions.line(path) - 1]
        comment = line.partition(" # ")[2].strip()
        above = text[loaded.positions.line(path) - 2].strip()
        if comment or above.startswith("# "):
            return comment or above.removeprefix("# ")
        path = path[:-1]
    return ""


def _linked(text: str) -> str:
    """Return rows with links to the sections and the table that their sources cite."""
    text = text.replace("| terms, ", "| [terms](errata.md#terms-that-live-on-other-pages), ")
    return _CITATION.sub(lambda cited: f"[{cited[0]}](sources.md#{_anchor(cited[2])})", text)


def _anchor(heading: str) -> str:
    return re.sub(r"[^\w\- ]", "", heading).lower().replace(" ", "-")


def _code(text: str) -> str:
    """A text as code, in which only the end of a cell has a meaning."""
    return f"`{text.replace('|', chr(92) + '|')}`"


def _cell(text: str) -> str:
    return text.replace("|", "&#124;")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
