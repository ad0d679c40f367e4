"""Tables and words of the pages are those of the engine, each in the section of a page."""

import inspect
import json
from collections.abc import Collection
from importlib.metadata import entry_points
from itertools import chain
from typing import get_args, get_type_hints

import pytest
from manual.page import Page

import tallystick
from tallystick.diagnostics import Diagnostic
from tallystick.formula import tree
from tallystick.formula.formula import FormulaKind
from tallystick.plugins import author, spec
from tallystick.plugins.entries import ALLOWED
from tallystick.plugins.registry import installed
from tallystick.records.rejects import CODES
from tallystick.resources import schema_path
from tallystick.rules.digest import canonical_form
from tallystick.rules.loading import shipped
from tallystick_chain.chain import Receipt, Refusal
from tallystick_conformance.checks import NAMES
from tallystick_conformance.report import REMEDIES, Checked, Report
from tallystick_consensus.group_record import CODES as OF_GROUPS
from tallystick_governance.prove.built_in_properties import BUILT_IN
from tallystick_governance.prove.property import Status
from tallystick_governance.prove.proving import BUDGET, MILLION, PATIENCE, REQUEST
from tallystick_service.settings import Settings
from tallystick_state.entries import KINDS
from tallystick_state.event_log import RANKS
from tallystick_state.replay import FLAGS
from tallystick_state.rules import GENESIS
from tallystick_validator.ballots import MAX_COMMITMENT_BYTES, UID_LIMIT
from tallystick_validator.health import CODES as OF_HEALTH

_KINDS, _LIMITS, _REGISTRY = get_args(FormulaKind), Settings(), installed()
_RULES = tallystick.load("workflow@1.1.0")
_GIB = _LIMITS.scoring_bytes >> 30


def operators() -> list[str]:
    """The first column of the table in the docstring of ``tree``."""
    lines = (tree.__doc__ or "").splitlines()
    head, start, end = (place for place, line in enumerate(lines) if line.startswith("=="))
    width = lines[head].index(" ")
    cells = ", ".join(line[:width].strip() for line in lines[start + 1 : end])
    return cells.replace("add … div", "add, sub, mul, div").split(", ")


def options() -> set[str]:
    """The options of the decorators of formulas."""
    return {o for kind in _KINDS for o in inspect.signature(getattr(author, kind)).parameters}


def fields() -> list[str]:
    """The fields of every record, with the parts that its type describes."""
    schema = json.loads(schema_path("record-1").read_text(encoding="utf-8"))
    head = [name for name in schema["properties"] if name not in {"consensus", "events"}]
    return [*head, "task", "submission", "checks", "consensus", "events"]


def groups() -> set[str]:
    """The groups of entry points of the engine and its plugins."""
    return {name for name in entry_points().groups if name.startswith("tallystick.")}


def report() -> set[str]:
    """The fields of a report of the kit, and of its findings."""
    found = Diagnostic(code="crashed", message="m", remedy="r")
    value = Report("x", "1", checked=(Checked("facts", (found,)),)).to_dict()
    return value.keys() | value["findings"][0].keys()


def requirements() -> set[str]:
    """The codes of all requirements of records."""
    own = chain(*(kind.requirements for kind in _REGISTRY.skill_types.values()))
    return {requirement.code for requirement in (*own, *_REGISTRY.requirements.values())}


Rows = list[tuple[str, str, Collection[str]]]
TABLES: Rows = [
    ("docs/canonical.md", "The log", {FLAGS, GENESIS, *KINDS, *RANKS}),
    ("docs/conformance.md", "Checks", list(NAMES)),
    ("docs/conformance.md", "Codes", list(REMEDIES)),
    ("docs/formulas.md", "Kinds of formulas", [f"@{kind}" for kind in _KINDS]),
    ("docs/formulas.md", "Operators", operators()),
    ("docs/plugins.md", "Hooks", [f"{n}()" for n in vars(spec) if n.startswith("tallystick_")]),
    ("docs/prove.md", "Answers", get_args(Status)),
    ("docs/prove.md", "What is asked", list(BUILT_IN)),
    ("docs/records.md", "Codes", {*CODES} - {*OF_GROUPS}),
    ("docs/records.md", "Fields of every record", fields()),
    ("docs/rule-sets.md", "The digest", list(canonical_form(_RULES.rule_set, _RULES.registry))),
]
"""First cells of the tables of a section, or all its code without a table, in their order; of a set
in any."""
NAMED: Rows = [
    ("docs/chain.md", "The protocol", {*get_args(get_type_hints(Receipt)["kind"]), *Refusal}),
    ("docs/conformance.md", "", report()),
    ("docs/formulas.md", "Kinds of formulas", options() - {"name", "parameters"}),
    ("docs/plugins.md", "Discovery and refusal", {ALLOWED}),
    ("docs/plugins.md", "More entry points", groups()),
    ("docs/plugins.md", "Requirements", {*inspect.signature(author.require).parameters}),
    ("docs/records.md", "Fields by type", requirements() | {*_REGISTRY.skill_types}),
    ("docs/validator.md", "Health", {*OF_HEALTH}),
]
"""Words that stand somewhere in a section, as code."""
TEXTS: Rows = [
    (
        "docs/conformance.md",
        "",
        {
            "pytest --tallystick-plugin workflow",
            "`tallystick-conformance::workflow::proofs`",
            f"passes: {len(NAMES)} checks",
        },
    ),
    (
        "docs/exchange.md",
        "",
        {
            f"at most {MAX_COMMITMENT_BYTES} bytes",
            f"uids below {UID_LIMIT}",
            f"0 to {UID_LIMIT // 8}",
        },
    ),
    (
        "docs/formulas.md",
        "Operators",
        {
            f"{tree.MAX_NODES} nodes",
            f"{tree.MAX_DEPTH} deep",
            f"{tree.MAX_DIGITS} digits",
            f"`x**{tree.MAX_POWER}`",
        },
    ),
    (
        "docs/prove.md",
        "The budget",
        {
            f"{BUDGET // MILLION} million steps",
            f"{BUDGET // MILLION // REQUEST} million for one request",
            f"{PATIENCE} times that for a question",
        },
    ),
    (
        "docs/service.md",
        "Safe by default",
        {
            f"{_LIMITS.rate:g} requests a second",
            f"{_LIMITS.burst} at once",
            f"{_LIMITS.clients} clients",
            f"| {_LIMITS.connections}, {_LIMITS.client_connections} of one client;",
            f"{_LIMITS.seconds:g} s for the head",
            f"| {_LIMITS.processes} processes, {_LIMITS.scoring_seconds:g} s and {_GIB} GiB each",
            f"| {_LIMITS.body_bytes >> 20} MiB |",
        },
    ),
    ("README.md", "", {f"`{name}`" for name in shipped(_REGISTRY)}),
    ("docs/rule-sets.md", "", {f"`{name}`" for name in shipped(_REGISTRY)}),
]
"""Words that stand somewhere in a section, as they are."""


def section(page: str, heading: str) -> Page:
    whole = Page.of(page)
    return whole.section(heading) if heading else whole


@pytest.mark.parametrize(("page", "heading", "entries"), TABLES)
def test_a_table_has_every_entry_and_no_other(
    page: str, heading: str, entries: Collection[str]
) -> None:
    part, is_ordered = section(page, heading), not isinstance(entries, set)
    found = part.first_cells() or part.spans()
    assert part.differs_from(entries, found, ordered=is_ordered) == []


@pytest.mark.parametrize(("page", "heading", "names"), NAMED)
def test_a_section_names_what_there_is(page: str, heading: str, names: Collection[str]) -> None:
    part = section(page, heading)
    assert {*names} - {*part.spans()} - part.words() == set()


@pytest.mark.parametrize(("page", "heading", "texts"), TEXTS)
def test_a_section_says_what_holds(page: str, heading: str, texts: Collection[str]) -> None:
    text = section(page, heading).text
    assert [each for each in texts if each not in text] == []
