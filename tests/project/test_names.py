"""The engine knows no name and no number of a rule set: these are data.

Names and numbers are taken from the shipped rule sets, and looked for in the constants of the
engine's sources. Docstrings may use them as examples.
"""

import ast
import re
import tomllib
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
ENGINE = ROOT / "engine" / "tallystick"

_RESULT = "a field of the result format, null where a rule set has no such factor"
_FORMAT = "a key of the rule-set format, which a threshold or a factor is called after too"
_RECORD = "an event of the record format: it lets a record be without a submission"
_RECORD_FIELD = "a field of the record format, and a section of the rule-set format"
_COMMAND = "the name of a function and of a command"
_GROUP = "a set of a member of a group, as a record of a group has it"
_COMPARED = "the rule set that the others are compared with"
_YUMA = "what the chain calls the median of weights"
EXEMPT = {
    ("scoring/result.py", "early_bonus"): _RESULT,
    ("scoring/result.py", "role_multiplier"): _RESULT,
    ("scoring/result.py", "consensus"): _RESULT,
    ("scoring/result.py", "bootstrap_bonus"): _RESULT,
    ("rules/", "baseline"): _FORMAT,
    ("rules/", "consensus"): _FORMAT,
    ("formula/facts/group.py", "policy"): _GROUP,
    ("records/group.py", "consensus"): _RECORD_FIELD,
    ("population/consensus/", "consensus"): _RECORD_FIELD,
    ("population/consensus/join.py", "policy"): "a word of an error",
    ("governance/lint/consensus.py", "consensus"): _FORMAT,
    ("governance/shadow.py", "consensus"): _FORMAT,
    ("governance/lint/consensus.py", "policy"): _FORMAT,
    ("governance/prove/consensus.py", "consensus"): "a word of the names of laws",
    ("governance/prove/consensus.py", "0.5"): "a risk of made-up members",
    ("governance/prove/consensus.py", "policy"): _GROUP,
    ("governance/prove/allocation.py", "0.25"): "a share of a made-up round",
    ("governance/prove/allocation.py", "0.5"): "a factor of made-up miners",
    ("__init__.py", "consensus"): _COMMAND,
    ("cli/consensus.py", "consensus"): _COMMAND,
    ("cli/state_options.py", "consensus"): "a word of the help of --groups",
    ("cli/main.py", "consensus"): _COMMAND,
    ("cli/rules_prove.py", "consensus"): "a command in the help of --save",
    ("scoring/", "baseline"): _FORMAT,
    ("records/", "missed_deadline"): _RECORD,
    ("state/miners.py", "collusion_flag"): "an event of the record format: it flags a miner",
    ("state/claims.py", "3"): "a place in the order of ranks",
    ("state/rules_log.py", "3"): "the format of a state",
    ("state/transfer.py", "3"): "the version of a file",
    ("state/", "evidence"): "the signals that the closing of an epoch rests on",
    ("governance/", "baseline"): _COMPARED,
    ("cli/backtest.py", "baseline"): _COMPARED,
    ("cli/groups.py", "consensus"): "a heading of the output for people",
    ("cli/yuma.py", "consensus"): _YUMA,
    ("governance/backtest/", "consensus"): _YUMA,
    ("population/yuma/", "consensus"): _YUMA,
    ("audit/", "evidence"): "the proofs of a dispute, and what a side shows of itself",
    ("trust/errors.py", "evidence"): "a word of a code: what a side shows of itself",
    ("cli/checkpoint.py", "evidence"): "the command that writes it",
    ("cli/rules_lint.py", "evidence"): "a word of the help: what a finding rests on",
    ("governance/lint/sarif.py", "evidence"): "a key of a finding",
    ("governance/lint/suppressions.py", "evidence"): "a key of a finding",
    ("rules/settable.py", "10"): "the base of decimals",
    ("rules/edit.py", "10"): "the base of decimals",
    ("rules/edit.py", "3"): "the decimals of a weight: a thousandth",
    ("numbers/mean_columns.py", "0.5"): "half of the last place, where values round",
    ("scoring/means.py", "10"): "the base of decimals",
    ("scoring/means.py", "30"): "bits",
    ("conformance/report.py", "evidence"): "a key of a finding",
}
"""What the engine spells all the same, by module or package, with the reason."""
STRUCTURAL = {Decimal(0), Decimal(1), Decimal(2)}
"""Numbers that every program has."""
BESIDE_DATA = ("rules/", "scoring/", "state/")
"""Where whole numbers are compared too: elsewhere they are places, bits and lengths."""
PLUMBING = ("state/store/", "scoring/executors/", "scoring/facts/")
"""What lies there but has time-outs, pages and positions of its own."""


def rule_sets() -> list[dict[str, Any]]:
    files = sorted((ROOT / "rules").rglob("*.toml"))
    assert files
    return [tomllib.loads(path.read_text(), parse_float=Decimal) for path in files]


def names(rule_set: dict[str, Any]) -> Iterator[str]:
    """Of axes, skill types, tiers, thresholds, emission factors and reputation events."""
    tiers = rule_set.get("tiers", {})
    yield from rule_set.get("axes", {})
    yield from rule_set.get("skill_types", {})
    yield from (level["name"] for level in tiers.get("levels", []))
    yield from tiers.get("thresholds", {})
    yield from rule_set.get("emission", {}).get("factors", {})
    yield from rule_set.get("reputation", {}).get("events", {})


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


NAMES = {name for rule_set in rule_sets() for name in names(rule_set)}
# a figure that is silenced is computed of the rules, not one of them
RULES = [{key: v for key, v in each.items() if key != "lint"} for each in rule_sets()]
NUMBERS = {number for rule_set in RULES for number in numbers(rule_set)} - STRUCTURAL
FRACTIONS = {number for number in NUMBERS if number % 1}


def constants(text: str) -> Iterator[Any]:
    """Every constant of a source but docstrings, examples, widths of shown values and bits."""
    nodes = list(ast.walk(ast.parse(text)))
    aside: set[ast.AST] = set()
    for node in nodes:
        match node:
            case ast.Expr(value=inner) | ast.BinOp(op=ast.LShift() | ast.RShift(), right=inner):
                aside.add(inner)
            case ast.Call(func=ast.Name(id="examples")):
                aside.update(ast.walk(node))
            case ast.FormattedValue(format_spec=ast.JoinedStr() as inner):
                aside.update(ast.walk(inner))
    yield from (n.value for n in nodes if isinstance(n, ast.Constant) and n not in aside)


def number_of(constant: object) -> Decimal | None:
    """The number that a constant is, or that its text spells."""
    if not isinstance(constant, str | int | float) or isinstance(constant, bool):
        return None
    try:
        return Decimal(str(constant))
    except InvalidOperation:
        return None


def found(module: str, text: str) -> Iterator[str]:
    """The names and numbers of rule sets that a source of the engine spells."""
    beside = module.startswith(BESIDE_DATA) and not module.startswith(PLUMBING)
    known = NUMBERS if beside else FRACTIONS
    for constant in constants(text):
        number = number_of(constant)
        if number in known:
            yield str(constant)
        elif isinstance(constant, str):
            yield from NAMES.intersection(re.findall(r"\w+", constant))


def spelled() -> set[tuple[str, str]]:
    return {
        (module, each)
        for path in sorted(ENGINE.rglob("*.py"))
        for module in [path.relative_to(ENGINE).as_posix()]
        for each in found(module, path.read_text())
    }


def exemptions(module: str, each: str) -> set[tuple[str, str]]:
    """Those that allow a module a name or a number."""
    return {(where, name) for where, name in EXEMPT if name == each and module.startswith(where)}


def test_the_engine_spells_no_name_and_no_number_of_a_rule_set() -> None:
    assert sorted(pair for pair in spelled() if not exemptions(*pair)) == []


def test_every_exemption_is_needed() -> None:
    needed = {exemption for pair in spelled() for exemption in exemptions(*pair)}
    assert sorted(EXEMPT.keys() - needed) == []


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("if axis == 'evidence': pass", ["evidence"]),
        ("text = f'the {tier} is tier_3_novel'", ["tier_3_novel"]),
        ("'''Such as tier_3_novel.'''", []),
        ("gate = 0.7", ["0.7"]),
        ("gate = Decimal('0.70')", ["0.70"]),
        ("blocks = 100", ["100"]),
        ("first = 1", []),
    ],
)
def test_a_planted_name_or_number_is_found(source: str, expected: list[str]) -> None:
    assert list(found("scoring/planted.py", source)) == expected
