"""Rule book: a rule set as a page shows it: formulas, constants with sources, lints, proofs.

The source of a constant is the comment beside it in the file, or right above it. All of a rule set
follows from its text and its plugins, so it is remembered by its text.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
from markupsafe import Markup

from tallystick.errors import InputError
from tallystick.formula.facts import path_of, reader_of, scale_of
from tallystick.formula.formula import Formula
from tallystick.formula.mathml import equations
from tallystick.formula.text import decimal_text, leaf_text, told_apart
from tallystick.formula.tree import Node
from tallystick.numbers.nano import NANO
from tallystick.rules.edit import named_paths
from tallystick.rules.reading import LoadedRuleSet
from tallystick.rules.settable import SettablePath, settable_paths
from tallystick.scoring.bound import BoundType
from tallystick.scoring.composite import Mean
from tallystick.scoring.scorer import Scorer, bind
from tallystick.scoring.value import Value
from tallystick_allocation.rules import ALLOCATION
from tallystick_governance.diff.difference import RuleSetDifference, difference
from tallystick_governance.lint.linting import Report, report_of
from tallystick_state.rules import StateRules

if TYPE_CHECKING:
    from tallystick_service.site import Site

# a text without an end goes on to the end of the line, so that nothing is tried again
_STRING = re.compile(r"\"(?:[^\"\\]|\\.)*+\"?|'[^']*+'?")
_RULER = re.compile(r"[-=#\s]*")


@attrs.frozen
class Constant:
    """A value of a rule set's file.

    Attributes:
        path: as ``rules set`` takes it.
        name: its last part.
        value: the value as text; None where types have several.
        range: what it can be, as text.
        meaning: what it decides.
        source: the comment beside it, or right above it; empty without one.
        line: of the file, from 1; 0 where it is on no line of its own.
    """

    path: str
    name: str
    value: str | None
    range: str
    meaning: str
    source: str
    line: int


@attrs.frozen
class Typeset:
    """A formula as a page shows it.

    Attributes:
        name: of the value that it gives, such as an axis.
        role: what that value is.
        formula: the formula.
        equations: the formula with its constants put in, a ``<math>`` element for each line.
        named: the same with their names; empty where it has none.
        types: the skill types that have it.
        constants: of the file.
    """

    name: str
    role: str
    formula: Formula
    equations: tuple[Markup, ...]
    named: tuple[Markup, ...]
    types: tuple[str, ...]
    constants: tuple[Constant, ...]


@attrs.frozen
class FactRow:
    """A fact that formulas read.

    Attributes:
        text: as formulas show it.
        paths: the places in a record.
        kind: the name of its reader.
        range: from the least to the largest value of valid records.
        better: the direction in which the types say that it is better; empty where none says it.
        types: the skill types that read it.
    """

    text: str
    paths: tuple[str, ...]
    kind: str
    range: str
    better: str
    types: tuple[str, ...]


@attrs.frozen
class TypePart:
    """A skill type of a rule set.

    Attributes:
        name: of the type.
        summary: one line of its plugin.
        composite: the composite as ``<math>``; None of a type without one.
        kind: the kind of the composite.
        gates: a sentence for each.
        requirements: what each valid record meets.
        constants: of the file.
    """

    name: str
    summary: str
    composite: Markup | None
    kind: str
    gates: tuple[str, ...]
    requirements: tuple[str, ...]
    constants: tuple[Constant, ...]


@attrs.frozen
class Proofs:
    """The answers of a solver about a rule set, from the file of ``rules prove --json``.

    Attributes:
        counts: by property, how many answers of each status there are.
        refuted: a sentence for each counterexample.
        undecided: property, type, value and reason of each undecided answer.
        total: how many answers there are.
    """

    counts: Mapping[str, Mapping[str, int]]
    refuted: tuple[str, ...]
    undecided: tuple[tuple[str, str, str, str], ...]
    total: int


@attrs.frozen(eq=False)
class RuleBook:
    """A rule set as a page shows it.

    Attributes:
        loaded: the rule set.
        types: its skill types.
        formulas: axes, measures, thresholds, factors and the emission, each once.
        facts: which they read.
        steps: name, sentence and constants of each step of the allocation.
        others: the constants of every other section, by section.
        lint: what the linter finds.
    """

    loaded: LoadedRuleSet
    types: tuple[TypePart, ...]
    formulas: tuple[Typeset, ...]
    facts: tuple[FactRow, ...]
    steps: tuple[tuple[str, str, tuple[Constant, ...]], ...]
    others: Mapping[str, tuple[Constant, ...]]
    lint: Report


def scorer_of(site: Site, rules: StateRules) -> Scorer:
    """Return the scorer of a rule set."""
    return site.remembered(
        ("scorer", rules.loaded.text), lambda: bind(rules.loaded, rules.registry)
    )


def rules_difference(site: Site, old: StateRules, new: StateRules) -> RuleSetDifference:
    """Return the difference of two rule sets, as governance asks for it."""
    scorers = scorer_of(site, old), scorer_of(site, new)
    key = "difference", old.loaded.text, new.loaded.text
    return site.remembered(key, lambda: difference(*scorers))


def rule_book(site: Site, rules: StateRules) -> RuleBook:
    """Return a rule set as a page shows it."""
    scorer = scorer_of(site, rules)
    return site.remembered(("book", rules.loaded.text), lambda: _rule_book(scorer, rules.loaded))


def _rule_book(scorer: Scorer, loaded: LoadedRuleSet) -> RuleBook:
    constants = constants_of(loaded)
    formulas = tuple(_typeset(scorer, constants))
    types = tuple(_type_part(scorer, bound, constants) for bound in scorer.types.values())
    steps = tuple(_steps(loaded, constants))
    shown = {c.path for f in formulas for c in f.constants}
    shown |= {c.path for part in types for c in part.constants}
    shown |= {c.path for _, _, own in steps for c in own}
    others: dict[str, tuple[Constant, ...]] = {}
    for constant in constants:
        section = re.split(r"[.\[]", constant.path, maxsplit=1)[0]
        if constant.path not in shown and section not in ("rule_set", "lint"):
            others[section] = (*others.get(section, ()), constant)
    facts = tuple(_facts(scorer))
    return RuleBook(loaded, types, formulas, facts, steps, others, report_of(scorer))


def constants_of(loaded: LoadedRuleSet) -> tuple[Constant, ...]:
    """Return the values of a rule set's file with their sources, in the order of the file."""
    comments = _comments(loaded.text)
    keys = {name: path for name, path, _ in named_paths(loaded.document.data)}
    return tuple(
        _constant(
            found, loaded.document.line(keys[found.path]) if found.path in keys else 0, comments
        )
        for found in settable_paths(loaded, loaded.registry)
    )


def _constant(found: SettablePath, line: int, comments: Sequence[str]) -> Constant:
    name = re.split(r"[.\[]", found.path)[-1].rstrip("]")
    source = comments[line - 1] if line else ""
    return Constant(found.path, name, found.value, found.range, found.meaning, source, line)


def _comments(text: str) -> list[str]:
    """Return the comment of each line: the one at its end, or the lines of it right above."""
    result: list[str] = []
    above: list[str] = []
    for line in text.splitlines():
        bare = _STRING.sub(lambda match: " " * len(match[0]), line)
        at = bare.find("#")
        comment = "" if at < 0 else line[at + 1 :].strip()
        if at >= 0 and not bare[:at].strip():
            above = (
                [] if _RULER.fullmatch(comment) or comment.startswith("---") else [*above, comment]
            )
            result.append("")
            continue
        result.append(comment or " ".join(above))
        # a list over several lines keeps the comment of its head
        above = above if line.strip() and not line.strip().startswith("[") and not comment else []
    return result


def _typeset(scorer: Scorer, constants: Sequence[Constant]) -> Iterator[Typeset]:
    found: dict[tuple[str, str], tuple[Value, Formula, list[str]]] = {}
    for bound in scorer.types.values():
        thresholds = () if bound.tiers is None else tuple(bound.tiers.formulas.values())
        for value in (*bound.values, *thresholds):
            if value.formula is not None:
                key = value.name, value.tree.digest
                found.setdefault(key, (value, value.formula, []))[2].append(bound.name)
    order = {role: at for at, role in enumerate(_ROLES)}
    for value, formula, types in sorted(
        found.values(), key=lambda each: order.get(each[0].role, len(order))
    ):
        head = f"{_ROLES.get(value.role, '')}{value.name}"
        own = tuple(c for c in constants if _is_below(c.path, head) and c.name != "formula")
        yield Typeset(
            value.name,
            value.role.replace("_", " "),
            formula,
            _equations(formula, value.tree),
            _equations(formula, formula.tree) if formula.parameters else (),
            tuple(types),
            own,
        )


_ROLES = {
    "axis": "axes.",
    "measure": "measures.",
    "composite": "skill_types.",
    "threshold": "tiers.thresholds.",
    "factor": "emission.factors.",
    "emission": "",
}
"""The place of a value in a file, by its role, in the order in which pages show them."""


def _is_below(path: str, head: str) -> bool:
    if head == "emission":
        return path.startswith("emission.") and not path.startswith("emission.factors.")
    return path.startswith((f"{head}.", f"{head}["))


def _equations(formula: Formula, tree: Node) -> tuple[Markup, ...]:
    name = formula.symbol or formula.name.partition("/")[2].partition("@")[0].replace("-", " ")
    # the writer escapes every name
    return tuple(Markup(line) for line in equations(name, tree))  # noqa: S704


def _type_part(scorer: Scorer, bound: BoundType, constants: Sequence[Constant]) -> TypePart:
    kind = scorer.registry.skill_types[bound.name]
    composite, mean = bound.composite.formula, bound.mean
    gates = tuple(
        f"{gate.axis} below {_short(gate.below)} makes the quality {_short(gate.composite)}"
        for gate in bound.gates
    )
    return TypePart(
        bound.name,
        kind.summary,
        None if mean is None else _composite(mean, bound),
        mean.kind if mean is not None else "" if composite is None else composite.name,
        gates,
        tuple(f"{r.path}: {r.expected}" for r in bound.required),
        tuple(c for c in constants if c.path.startswith((f"skill_types.{bound.name}.",))),
    )


def _short(nano: int) -> str:
    return decimal_text(Fraction(nano, NANO))


def _composite(mean: Mean, bound: BoundType) -> Markup:
    """Return the formula of a mean, by the symbols of its axes."""
    symbols = {axis.name: axis.symbol or axis.name for axis in bound.axes}

    def leaf(node: Node) -> str:
        return symbols.get(leaf_text(node), leaf_text(node))

    # the writer escapes every name
    return Markup(equations("Q", mean.tree, leaf)[-1])  # noqa: S704


def _facts(scorer: Scorer) -> Iterator[FactRow]:
    found: dict[str, tuple[Node, list[BoundType]]] = {}
    for bound in scorer.types.values():
        for fact in bound.facts:
            found.setdefault(fact.digest, (fact, []))[1].append(bound)
    texts = told_apart(fact for fact, _ in found.values())
    better = {
        direction.fact.digest: direction.better + ("" if direction.where is None else ", at times")
        for bound in scorer.types.values()
        for direction in scorer.registry.skill_types[bound.name].directions
    }
    for digest, (fact, types) in found.items():
        lows = [bound.domains[digest].low for bound in types]
        highs = [bound.domains[digest].high for bound in types]
        yield FactRow(
            texts[digest],
            tuple(reader_of(fact).paths(fact)) or (path_of(fact),),
            str(fact.data[0]),
            _range(fact, min(lows), max(highs)),
            better.get(digest, ""),
            tuple(bound.name for bound in types),
        )


def _range(fact: Node, low: int, high: int) -> str:
    if fact.kind == "truth":
        return "no or yes"
    if fact.kind == "choice" and isinstance(fact.data[2], tuple):
        return ", ".join(map(str, fact.data[2]))
    scale = scale_of(fact)
    return f"{decimal_text(Fraction(low, scale))} to {decimal_text(Fraction(high, scale))}"


def _steps(
    loaded: LoadedRuleSet, constants: Sequence[Constant]
) -> Iterator[tuple[str, str, tuple[Constant, ...]]]:
    allocation = loaded.rule_set.section(ALLOCATION)
    for step in allocation.steps if allocation is not None else ():
        head = f"allocation.steps[{step.name}]."
        own = (c for c in constants if c.path.startswith(head) and c.name not in ("name", "do"))
        yield step.name, step.sentence, tuple(own)


def proofs_of(folder: Path | None, digest: str) -> Proofs | None:
    """Return the answers of a solver about a rule set; None where no file has them.

    Args:
        folder: of files, each named by the digest of its rule set: ``sha256-….json``.
        digest: of the rule set.
    """
    if folder is None:
        return None
    path = folder / proofs_name(digest)
    if not path.is_file():
        return None
    try:
        results = json.loads(path.read_text(encoding="utf-8"))["results"]
        return _proofs(results)
    except (OSError, ValueError, KeyError, TypeError, InputError):
        return None


def proofs_name(digest: str) -> str:
    """Return the name of the file with the answers about a rule set."""
    return f"{digest.replace(':', '-')}.json"


def _proofs(results: Sequence[Mapping[str, Any]]) -> Proofs:
    counts: dict[str, Counter[str]] = {}
    for result in results:
        counts.setdefault(str(result["property"]), Counter())[str(result["status"])] += 1
    return Proofs(
        counts,
        tuple(
            str(r.get("wrong", r["property"])) for r in results if r["status"] == "counterexample"
        ),
        tuple(
            (str(r["property"]), str(r["skill_type"]), str(r["axis"]), str(r.get("reason") or ""))
            for r in results
            if r["status"] == "undecided"
        ),
        len(results),
    )
