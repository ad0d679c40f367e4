"""The core knows no name and no number of a rule set; a floor knows the words of its own subject.

Names and numbers are taken from the shipped rule sets and from the schemas of the skill types and
of groups, and looked for in the sources: in constants, and of the core in the names of its code
too. Docstrings may use them as examples.
"""

import ast
import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from decimal import Decimal, InvalidOperation
from functools import cache
from typing import Any

import pytest
from packages import CORE, FLOORS, ROOT, SKILL_TYPES, folder_of, sources

EXEMPT: Mapping[tuple[str, str], str] = {
    ("__init__.py", "consensus"): "the façade names the function of a floor",
    ("records/", "missed_deadline"): "an event of the record format: a record lacks a submission",
    ("rules/", "baseline"): "a key of a skill type with tiers, which a threshold is called after",
    ("scoring/", "baseline"): "the same key",
    ("diagnostics.py", "evidence"): "a key of a diagnostic: the figures behind it",
    ("rules/findings.py", "evidence"): "the same key",
    ("scoring/lint.py", "evidence"): "the same key",
    ("scoring/", "tool"): "what analyses a value; in rule sets a kind of capability",
    ("json_values.py", "evidence"): "the same key",
    ("plugins/strategy.py", "cost"): "the work of an answer; in rule sets the name of an axis",
    ("io/text.py", "secret"): "text that is never shown",
    ("rules/edit.py", "3"): "how many similar names a message offers",
    ("numbers/mean_columns.py", "0.5"): "half of the last place, where values round",
}
"""Words that the core spells all the same, by module or package, with the reason."""

_CONSENSUS = "the section, the factor and the field of a record that a group fills"
_ROLE = "a role of the record format"
SUBJECTS: Mapping[str, Mapping[str, str]] = {
    "tallystick_allocation": {},
    "tallystick_yuma": {"consensus": "what the chain calls the median of weights"},
    "tallystick_consensus": {
        "consensus": _CONSENSUS,
        "policy": "a set of a member of a group, as a record of a group has it",
    },
    "tallystick_state": {
        "consensus": "whether the group of a round has one, and the option that fills it",
        "baseline": "a key of a skill type with tiers",
        "collusion_flag": "an event of the record format: it flags a miner",
        "detection": "what of collusion says whom the engine flags",
        "evidence": "the signals behind the closing of an epoch, the proofs of a dispute",
        "auditor": _ROLE,
        "policy": "the policy of a gate, which a trust file names",
        "primary": _ROLE,
        "secret": "the secret part of a key",
    },
    "tallystick_conformance": {
        "evidence": "a key of a finding",
        "proc": "a folder of the operating system",
    },
    "tallystick_simulation": {
        "consensus": _CONSENSUS,
        "detection": "the chance that a dishonest answer is caught",
        "auditor": _ROLE,
        "primary": _ROLE,
    },
    "tallystick_governance": {
        "baseline": "the rule set that the others are compared with",
        "consensus": "what the chain calls the median of weights, and laws about groups",
        "detection": "the table of collusion whose changes a difference follows to flags",
        "evidence": "a key of a finding",
        "policy": "the clauses of a gate; a set of a member of a group, in laws about groups",
        "primary": _ROLE,
        "tool": "a key of SARIF",
    },
    "tallystick_chain": {},
    "tallystick_service": {
        "policy": "the policy of content of a page",
        "secret": "what an operator proves itself by",
    },
    "tallystick_validator": {
        "evidence": "a command that exports what a dispute asks for",
        "shell": "the program that would expand ~ in a path",
    },
}
"""The words of each floor's own subject that rule sets use too, but those of its own files."""
BY_CHANCE: Mapping[tuple[str, str], str] = {
    ("tallystick_allocation/share.py", "5"): "the digits of a slot",
    ("tallystick_consensus/components.py", "10"): "the end of the range of a parameter",
    ("tallystick_consensus/components.py", "100"): "the end of the range of a parameter",
    ("tallystick_state/claims.py", "3"): "a place in the order of ranks",
    ("tallystick_state/genesis.py", "3"): "the format of a state",
    ("tallystick_state/transfer.py", "3"): "the version of a file",
    ("tallystick_state/transfer.py", "5"): "the version of a file",
    ("tallystick_validator/pulling.py", "0.25"): "seconds before a peer is asked again",
    ("tallystick_governance/prove/consensus.py", "0.5"): "a risk of made-up members",
    ("tallystick_governance/prove/allocation.py", "0.25"): "a share of a made-up round",
    ("tallystick_governance/prove/allocation.py", "0.5"): "a factor of made-up miners",
}
"""Numbers of floors that a rule set has by chance, with what they are."""
STRUCTURAL = {Decimal(0), Decimal(1), Decimal(2)}
"""Numbers that every program has."""
BESIDE_DATA = (
    "rules/",
    "scoring/",
    "tallystick_allocation/",
    "tallystick_consensus/",
    "tallystick_state/",
)
"""Where whole numbers are compared too: elsewhere they are places, bits and lengths."""
PLUMBING = (
    "scoring/executors/",
    "scoring/facts/",
    *(f"tallystick_state/{part}/" for part in ("audit", "cli", "store", "trust")),
    *(f"tallystick_{floor}/lints/" for floor in ("allocation", "consensus", "state")),
)
"""What lies there but has time-outs, pages, positions and made-up miners of its own."""


def rule_sets() -> list[dict[str, Any]]:
    files = sorted((ROOT / "rules").rglob("*.toml"))
    assert files
    return [tomllib.loads(path.read_text(), parse_float=Decimal) for path in files]


def names(rule_set: dict[str, Any]) -> Iterator[str]:
    """Find the names of axes, types, tiers, thresholds, factors, events, components, parameters."""
    tiers = rule_set.get("tiers", {})
    yield from rule_set.get("axes", {})
    yield from rule_set.get("skill_types", {})
    yield from (level["name"] for level in tiers.get("levels", []))
    yield from tiers.get("thresholds", {})
    yield from rule_set.get("emission", {}).get("factors", {})
    yield from rule_set.get("reputation", {}).get("events", {})
    yield from rule_set.get("consensus", {}).get("components", {})
    yield from parameters(rule_set.get("axes", {}))
    yield from parameters(rule_set.get("emission", {}).get("factors", {}))


def capability_kinds(rule_set: dict[str, Any]) -> Iterator[str]:
    yield from rule_set.get("consensus", {}).get("capability_kinds", ())


def parameters(table: dict[str, Any]) -> Iterator[str]:
    """Find the parameters of the formulas in a table; one word, such as share, is nobody's own."""
    for key, value in table.items():
        if isinstance(value, dict):
            yield from parameters(value)
        elif "_" in key and key != "skill_types":
            yield key


def options(schema: object) -> Iterator[str]:
    """The texts that a schema lists: verdicts, events, kinds."""
    match schema:
        case dict():
            yield from (text for text in schema.get("enum", ()) if isinstance(text, str))
            for inner in schema.values():
                yield from options(inner)
        case list():
            for inner in schema:
                yield from options(inner)


def numbers(value: object) -> Iterator[Decimal]:
    match value:
        case dict():
            for inner in value.values():
                yield from numbers(inner)
        case list():
            for inner in value:
                yield from numbers(inner)
        case bool():
            return
        case int() | Decimal():
            yield Decimal(value)


SCHEMAS = [path for name in SKILL_TYPES for path in folder_of(name).rglob("*.schema.json")]
"""Words of the records of skill types."""
GROUPS = json.loads((ROOT / "schemas" / "group-1.schema.json").read_text())
OWN: Mapping[str, set[str]] = {
    "tallystick_consensus": {
        *options(GROUPS),
        *(name for each in rule_sets() for name in each.get("consensus", {}).get("components", {})),
        *(kind for each in rule_sets() for kind in capability_kinds(each)),
    }
}
"""By floor, the words of its section and of its record: components, verdicts, kinds."""
NAMES = {name for rule_set in rule_sets() for name in names(rule_set)}
NAMES |= {word for words in OWN.values() for word in words}
NAMES |= {text for path in SCHEMAS for text in options(json.loads(path.read_text()))}
# a figure that is silenced is computed of the rules, not one of them
RULES = [{key: v for key, v in each.items() if key != "lint"} for each in rule_sets()]
NUMBERS = {number for rule_set in RULES for number in numbers(rule_set)} - STRUCTURAL
FRACTIONS = {number for number in NUMBERS if number % 1}


def constants(text: str) -> Iterator[Any]:
    """Every constant of a source but docstrings, examples, widths of texts, bits and powers."""
    nodes = list(ast.walk(ast.parse(text)))
    aside: set[ast.AST] = set()
    for node in nodes:
        match node:
            case ast.Expr(value=inner) | ast.BinOp(op=ast.LShift() | ast.RShift(), right=inner):
                aside.add(inner)
            case ast.BinOp(op=ast.Pow()):
                # 10**9, 2**20 and the like are units
                aside.update(ast.walk(node))
            case ast.Call(func=ast.Name(id="examples")):
                aside.update(ast.walk(node))
            case ast.FormattedValue(format_spec=ast.JoinedStr() as inner):
                aside.update(ast.walk(inner))
    yield from (n.value for n in nodes if isinstance(n, ast.Constant) and n not in aside)


def identifiers(text: str) -> Iterator[str]:
    """The names that code gives: of variables, fields, arguments, functions and classes."""
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Name(id=name) | ast.arg(arg=name) | ast.Attribute(attr=name):
                yield name
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.keyword(arg=str(name)):
                yield name


def number_of(constant: object) -> Decimal | None:
    """The number that a constant is, or that its text spells."""
    if not isinstance(constant, str | int | float) or isinstance(constant, bool):
        return None
    try:
        return Decimal(str(constant))
    except InvalidOperation:
        return None


def spelled(module: str, text: str) -> Iterator[str]:
    """The names and the numbers of rule sets that the constants of a source spell."""
    beside = module.startswith(BESIDE_DATA) and not module.startswith(PLUMBING)
    known = NUMBERS if beside else FRACTIONS
    for constant in constants(text):
        number = number_of(constant)
        if number in known:
            yield str(constant)
        elif isinstance(constant, str):
            yield from NAMES.intersection(re.findall(r"\w+", constant))


def found(module: str, text: str) -> Iterator[str]:
    """The names and the numbers of rule sets that a source of the core spells."""
    yield from spelled(module, text)
    yield from NAMES.intersection(identifiers(text))


@cache
def of_core() -> set[tuple[str, str]]:
    return {
        (module, word)
        for path in sources(CORE)
        for module in [path.relative_to(folder_of(CORE)).as_posix()]
        for word in found(module, path.read_text())
    }


@cache
def of_floors() -> set[tuple[str, str]]:
    return {
        (module, word)
        for floor in FLOORS
        for path in sources(floor)
        for module in [path.relative_to(folder_of(floor).parent).as_posix()]
        for word in spelled(module, path.read_text())
    }


def exemptions(module: str, word: str) -> set[tuple[str, str]]:
    """Those that allow a module of the core a name or a number."""
    return {(where, name) for where, name in EXEMPT if name == word and module.startswith(where)}


def test_the_core_spells_no_name_and_no_number_of_a_rule_set() -> None:
    assert sorted(pair for pair in of_core() if not exemptions(*pair)) == []


def test_a_floor_spells_the_names_of_its_own_subject_and_no_number_of_a_rule_set() -> None:
    assert [
        (module, word)
        for module, word in sorted(of_floors() - BY_CHANCE.keys())
        for floor in [module.partition("/")[0]]
        if word not in {*SUBJECTS[floor], *OWN.get(floor, ())}
    ] == []


def test_every_exemption_is_needed() -> None:
    core, floors = of_core(), of_floors()
    needed = {exemption for pair in core for exemption in exemptions(*pair)}
    assert sorted(EXEMPT.keys() - needed) == []
    assert sorted(BY_CHANCE.keys() - floors) == []
    used = {(module.partition("/")[0], word) for module, word in floors}
    assert [(f, word) for f in FLOORS for word in SUBJECTS[f] if (f, word) not in used] == []


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("if axis == 'evidence': pass", ["evidence"]),
        ("text = f'the {tier} is tier_3_novel'", ["tier_3_novel"]),
        ("'''Such as tier_3_novel.'''", []),
        ("laxest = 'ALLOW'", ["ALLOW"]),
        ("recall = components['findings_recall']", ["findings_recall"]),
        ("def bonus(early_bonus): pass", ["early_bonus"]),
        ("class Row:\n    role_multiplier: int", ["role_multiplier"]),
        ("Row(bootstrap_bonus=1)", ["bootstrap_bonus"]),
        ("found.collusion_flag", ["collusion_flag"]),
        ("gate = 0.7", ["0.7"]),
        ("gate = Decimal('0.70')", ["0.70"]),
        ("blocks = 100", ["100"]),
        ("nano = 10**9", []),
        ("first = 1", []),
    ],
)
def test_a_planted_name_or_number_is_found(source: str, expected: list[str]) -> None:
    assert list(found("scoring/planted.py", source)) == expected
