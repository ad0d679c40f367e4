"""The report of a check: what was looked at, what was found, and what each code means."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import attrs

from tallystick.diagnostics import Diagnostic
from tallystick.json_values import JsonKey, JsonObject, json_object, json_value

LOADING = "loading"
"""The check that comes first: whether the plugin can be used at all."""


@attrs.frozen
class Checked:
    """One check that was begun, and what it found."""

    name: str
    findings: tuple[Diagnostic, ...] = ()


_FINDING = ("code", "where", "message", "remedy", "evidence")
"""The attributes of a `Diagnostic` that the JSON of a report has."""


@json_object(
    *("plugin", "version", "passed"),
    JsonKey("checks", lambda report: [checked.name for checked in report.checked]),
    JsonKey("findings", form=lambda all_: [{n: getattr(d, n) for n in _FINDING} for d in all_]),
)
@attrs.frozen
class Report:
    """The report of the checks of one plugin.

    Attributes:
        plugin: its name.
        version: of its project; empty where the project does not say it.
        formulas: how many it offers.
        skill_types: how many it offers.
        checked: the checks that were begun, in order; the last one may not have ended.
        recorded: the formulas that were added to released.json, or recorded again.
        removed: the formulas that were taken away from it.
    """

    plugin: str
    version: str
    formulas: int = 0
    skill_types: int = 0
    checked: tuple[Checked, ...] = ()
    recorded: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()

    @property
    def findings(self) -> tuple[Diagnostic, ...]:
        """The findings in the order of the checks."""
        return tuple(problem for check in self.checked for problem in check.findings)

    @property
    def passed(self) -> bool:
        """True where nothing was found."""
        return not self.findings

    def to_dict(self) -> JsonObject:
        """Return the report as JSON values."""
        value: JsonObject = json_value(self)
        return value


def lines_of(found: Diagnostic, longest: int | None = None) -> Iterator[str]:
    """Yield a finding as a block of text; of an example that is longer, only its length.

    Lines of text, such as those of a formula, stand below each other.
    """
    yield f"{found.code}: {found.where}"
    yield f"    {found.message}"
    for name, value in found.evidence.items():
        if isinstance(value, list) and value and all(isinstance(element, str) for element in value):
            yield f"    {name}:"
            yield from (f"        {element}" for element in value)
            continue
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        is_short = longest is None or len(text) <= longest
        yield f"    {name}: {text if is_short else f'{len(text)} characters, which --json shows'}"
    yield f"    to do: {found.remedy}"


@attrs.frozen
class Code:
    """The meaning of one kind of finding.

    Attributes:
        code: the stable name.
        summary: what is wrong, in one line.
        remedy: what to do.
    """

    code: str
    summary: str
    remedy: str


def finding(
    code: str, path: str, message: str, evidence: Mapping[str, Any] | None = None
) -> Diagnostic:
    """Return a finding with the remedy of its code; ``path`` is what of the plugin it is about."""
    remedy = CODES[code].remedy
    return Diagnostic(code=code, path=path, message=message, evidence=evidence or {}, remedy=remedy)


def finding_in(code: str, file: Path | str, message: str, line: int = 0) -> Diagnostic:
    """Return a finding about a file, or one of its lines."""
    remedy = CODES[code].remedy
    return Diagnostic(code=code, file=str(file), line=line, message=message, remedy=remedy)


_LOADING = (
    Code(
        "import-failed",
        "the module of the plugin cannot be imported",
        "fix the line that is named; the module must import without arguments, network or files",
    ),
    Code(
        "api-version",
        "the plugin declares another version of the interface, or none",
        "set tallystick_api to the version of this engine, and follow its changelog",
    ),
    Code(
        "hook-failed",
        "a hook failed, is not marked or unknown, or gave something else than it should",
        "fix the hook; docs/plugins.md says what each of them gives",
    ),
    Code(
        "name-taken",
        "the plugin, or what it offers, has a name that another one has",
        "choose another name; a namespace of your own before the slash keeps clear of others",
    ),
    Code(
        "foreign-name",
        "the plugin offers something under a name that does not begin with its own",
        "begin the names with that of the entry point and a slash, or rename the entry point",
    ),
    Code(
        "float-in-formula",
        "a formula holds a float, which is not exact",
        "write the number as int, Fraction or Decimal('…')",
    ),
)

_IMPORT = (
    Code(
        "import-side-effect",
        "the import of the plugin changes the process, or prints",
        "let modules define and no more: what they print or change reaches every other plugin",
    ),
)

_SCHEMAS = (
    Code(
        "schema-invalid",
        "the record schema of a skill type cannot be used",
        "fix the schema; docs/tutorial.md has one that can be used",
    ),
    Code(
        "schema-open",
        "a part of a record schema lets through what nobody described",
        'add "additionalProperties": false to the object, or say what the value is',
    ),
    Code(
        "schema-unbounded",
        "a part of a record schema has no bounds",
        "give numbers a minimum and a maximum, lists a maxItems, maps a maxProperties",
    ),
    Code(
        "line-costly",
        "so many parts of a record schema apply to one value that lines are dear to judge",
        "let fewer parts apply to one value: a part named twice by allOf or $ref counts twice",
    ),
    Code(
        "fact-unreachable",
        "a formula or a requirement reads what no record has",
        "fix the path of the fact, or add it to the schema of the skill type",
    ),
)

_RECORDS = (
    Code(
        "example-refused",
        "an example is no valid record, or breaks a requirement of its type",
        "fix the example, or the schema",
    ),
    Code(
        "generator-refused",
        "the generator of a skill type fails, or makes records that cannot be scored",
        "let it make what the schema and the requirements of the type let through",
    ),
    Code(
        "generator-unstable",
        "the generator of a skill type makes other records in another process",
        "take every choice from the draw that it is given",
    ),
)

_RULE_SETS = (
    Code(
        "rule-set-invalid",
        "a rule set of the plugin does not load",
        "fix the file; tallystick rules check FILE shows everything that is wrong with it",
    ),
    Code(
        "rule-set-foreign",
        "a rule set stands under another name than that of the plugin, and is not found by it",
        "name the rule set, and the folder that it is in, after the plugin",
    ),
    Code(
        "rule-set-missing",
        "no rule set scores a skill type of the plugin",
        "ship a rule set that scores it, so that its formulas are proved with their parameters",
    ),
    Code(
        "axis-out-of-range",
        "a formula leaves its declared range, as an example shows",
        "use clip(), narrow the ranges of its parameters, or require what keeps it inside",
    ),
    Code(
        "axis-unproved",
        "a formula cannot be proved to stay in its range, and no example was found that leaves it",
        "write it so that the bounds show it: use clip(), or add the condition as a requirement",
    ),
    Code(
        "division-by-zero",
        "a formula can divide by zero",
        "put the zero in an earlier case, or require of the record that it is not zero",
    ),
    Code(
        "outside-domain",
        "a formula can take a root or a power of what is below 0, a logarithm of 0, or a huge exp",
        "put what has no value in an earlier case, use clip(), or require it of the record",
    ),
)

_ALLOCATIONS = (
    Code(
        "allocation-fails",
        "the steps of a rule set refuse a population that their ranges allow",
        "say what a step does with nobody, one miner, equals and zeros, as its table in "
        "docs/allocation.md says",
    ),
    Code(
        "allocation-pays-nobody",
        "the steps of a rule set give nobody a weight, whoever there is",
        "look which step drops everybody: tallystick allocate … --explain HOTKEY",
    ),
    Code(
        "allocation-sum",
        "the weights of a rule set do not sum to 1",
        'end with a share, and let no part get lost: empty = "fold" or "burn" in a mix',
    ),
    Code(
        "allocation-inverts",
        "a miner with a higher score gets a lower weight",
        "order the parts from the first place on, and take care that what is above a cap does not "
        "go to those below",
    ),
)

_RELEASES = (
    Code(
        "text-unreadable",
        "a formula cannot be shown to people as text",
        "give it labels and names of plain text",
    ),
    Code(
        "formula-changed",
        "a formula is another one than was released under its name",
        "give the changed formula a new version, and keep the released one as it was"
        "; if it was never published: tallystick plugins check … --reset-unreleased",
    ),
    Code(
        "formula-unstable",
        "a formula is another one in another process",
        "build it from code alone: from no clock, environment, folder, or order of sets",
    ),
    Code(
        "formula-unrecorded",
        "the digest of a formula is not in released.json",
        "record it when you release: tallystick plugins check … --record",
    ),
    Code(
        "formula-gone",
        "a formula that was released is no longer there",
        "put it back: rule sets that name it must keep scoring as they did"
        "; if it was never published: tallystick plugins check … --reset-unreleased",
    ),
    Code(
        "record-unreadable",
        "released.json cannot be read",
        'restore it from its history: {"formulas": {"name@1": "sha256:…"}}',
    ),
)

_SCORES = (
    Code(
        "readers-disagree",
        "two evaluators of one formula give different numbers",
        "report it with the record: every evaluator must give the same number",
    ),
    Code(
        "batch-dependent",
        "the result of a record depends on the records beside it",
        "let facts read their own record alone, and keep nothing between calls",
    ),
    Code(
        "not-repeatable",
        "the same record gives different results",
        "let facts depend on their record alone",
    ),
)

_OPAQUE = (
    Code(
        "opaque-clock",
        "an opaque fact reads the clock",
        "take the time from the record: whoever scores it later must get the same integer",
    ),
    Code(
        "opaque-randomness",
        "an opaque fact draws random numbers",
        "compute the integer from the record alone",
    ),
    Code(
        "opaque-file",
        "an opaque fact opens a file",
        "put what it reads into the source of the function, or into the record",
    ),
    Code(
        "opaque-environment",
        "an opaque fact reads the environment of its process",
        "compute the integer from the record alone",
    ),
    Code(
        "opaque-network",
        "an opaque fact uses the network",
        "let the validator put the answer into the record",
    ),
    Code(
        "opaque-process",
        "an opaque fact starts a process or a thread, or calls into the system",
        "compute the integer in the function itself",
    ),
    Code(
        "opaque-not-integer",
        "an opaque fact gives something else than a whole number",
        "return an int; a float is not exact: count in units, or use the scale 10**9",
    ),
    Code(
        "opaque-out-of-range",
        "an opaque fact leaves the range that it declares",
        "declare the whole range with low= and high=, or clip the integer to it",
    ),
    Code(
        "opaque-raises",
        "an opaque fact fails on a valid record",
        "handle every record that the schema and the requirements let through",
    ),
    Code(
        "opaque-slow",
        "an opaque fact takes too long, or longer than the length of what it reads",
        "read each item once, or give the schema a smaller maxLength or maxItems",
    ),
    Code(
        "opaque-unstable",
        "an opaque fact gives different integers for the same record",
        "keep nothing between calls, and sort sets before their order counts",
    ),
    Code(
        "opaque-changes-record",
        "an opaque fact changes the record that it reads",
        "work on a copy: others read the record after it",
    ),
    Code(
        "opaque-changed",
        "an opaque fact of a released formula gives another integer than it did",
        "write the changed fact beside the old one, and a formula that reads it as a new version",
    ),
)

_THE_CHECK = (
    Code(
        "timed-out",
        "the check took longer than it may",
        "find what hangs or is slow; --seconds gives it more time",
    ),
    Code(
        "crashed",
        "the process that checks the plugin ended before its time",
        "find what ends the process: os._exit, a signal, or a fault of a compiled module",
    ),
    Code(
        "check-failed",
        "a check could not be finished",
        "fix what the message names; if it is not of the plugin, report it",
    ),
)

CODES: Mapping[str, Code] = {
    each.code: each
    for group in (
        _LOADING,
        _IMPORT,
        _SCHEMAS,
        _RECORDS,
        _RULE_SETS,
        _ALLOCATIONS,
        _RELEASES,
        _SCORES,
        _OPAQUE,
        _THE_CHECK,
    )
    for each in group
}
"""Every code by its name, in the order of the checks."""
