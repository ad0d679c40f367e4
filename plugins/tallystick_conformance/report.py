"""The report of a check: what was looked at, what was found, and what to do about each code."""

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


def finding(
    code: str, path: str, message: str, evidence: Mapping[str, Any] | None = None
) -> Diagnostic:
    """Return a finding with the remedy of its code; ``path`` is what of the plugin it is about."""
    remedy = REMEDIES[code]
    return Diagnostic(code=code, path=path, message=message, evidence=evidence or {}, remedy=remedy)


def finding_in(code: str, file: Path | str, message: str, line: int = 0) -> Diagnostic:
    """Return a finding about a file, or one of its lines."""
    remedy = REMEDIES[code]
    return Diagnostic(code=code, file=str(file), line=line, message=message, remedy=remedy)


REMEDIES: Mapping[str, str] = {
    # loading
    "import-failed": (
        "fix the line that is named; the module must import without arguments, network or files"
    ),
    "api-version": "set tallystick_api to the version of this engine, and follow its changelog",
    "hook-failed": "fix the hook; docs/plugins.md says what each of them gives",
    "name-taken": (
        "choose another name; a namespace of your own before the slash keeps clear of others"
    ),
    "foreign-name": (
        "begin the names with that of the entry point and a slash, or rename the entry point"
    ),
    "float-in-formula": "write the number as int, Fraction or Decimal('…')",
    # import
    "import-side-effect": (
        "let modules define and no more: what they print or change reaches every other plugin"
    ),
    # schemas and facts
    "schema-invalid": "fix the schema; docs/tutorial.md has one that can be used",
    "schema-open": 'add "additionalProperties": false to the object, or say what the value is',
    "schema-unbounded": (
        "give numbers a minimum and a maximum, lists a maxItems, maps a maxProperties"
    ),
    "line-costly": (
        "let fewer parts apply to one value: a part named twice by allOf or $ref counts twice"
    ),
    "fact-unreachable": "fix the path of the fact, or add it to the schema of the skill type",
    # examples and generators
    "example-refused": "fix the example, or the schema",
    "generator-refused": "let it make what the schema and the requirements of the type let through",
    "generator-unstable": "take every choice from the draw that it is given",
    # rule sets and proofs
    "rule-set-invalid": (
        "fix the file; tallystick rules check FILE shows everything that is wrong with it"
    ),
    "rule-set-foreign": "name the rule set, and the folder that it is in, after the plugin",
    "rule-set-missing": (
        "ship a rule set that scores it, so that its formulas are proved with their parameters"
    ),
    "axis-out-of-range": (
        "use clip(), narrow the ranges of its parameters, or require what keeps it inside"
    ),
    "axis-unproved": (
        "write it so that the bounds show it: use clip(), or add the condition as a requirement"
    ),
    "division-by-zero": (
        "put the zero in an earlier case, or require of the record that it is not zero"
    ),
    "outside-domain": (
        "put what has no value in an earlier case, use clip(), or require it of the record"
    ),
    # allocations
    "allocation-fails": (
        "say what a step does with nobody, one miner, equals and zeros, as its table in "
        "docs/allocation.md says"
    ),
    "allocation-pays-nobody": (
        "look which step drops everybody: tallystick allocate … --explain HOTKEY"
    ),
    "allocation-sum": (
        'end with a share, and let no part get lost: empty = "fold" or "burn" in a mix'
    ),
    "allocation-inverts": (
        "order the parts from the first place on, and take care that what is above a cap does "
        "not go to those below"
    ),
    # text and releases
    "text-unreadable": "give it labels and names of plain text",
    "formula-changed": (
        "give the changed formula a new version, and keep the released one as it was; if it was "
        "never published: tallystick plugins check … --reset-unreleased"
    ),
    "formula-unstable": (
        "build it from code alone: from no clock, environment, folder, or order of sets"
    ),
    "formula-unrecorded": "record it when you release: tallystick plugins check … --record",
    "formula-gone": (
        "put it back: rule sets that name it must keep scoring as they did; if it was never "
        "published: tallystick plugins check … --reset-unreleased"
    ),
    "record-unreadable": 'restore it from its history: {"formulas": {"name@1": "sha256:…"}}',
    # scores
    "readers-disagree": "report it with the record: every evaluator must give the same number",
    "batch-dependent": (
        "let facts read their own record alone, and keep nothing between calls; if they do, report "
        "it with the record: the engine must give the same"
    ),
    "not-repeatable": "let facts depend on their record alone",
    # code of opaque facts
    "opaque-file": "put what it reads into the source of the function, or into the record",
    "opaque-network": "let the validator put the answer into the record",
    "opaque-process": "compute the integer in the function itself",
    "opaque-not-integer": (
        "return an int; a float is not exact: count in units, or use the scale 10**9"
    ),
    "opaque-out-of-range": "declare the whole range with low= and high=, or clip the integer to it",
    "opaque-raises": "handle every record that the schema and the requirements let through",
    "opaque-slow": "read each item once, or give the schema a smaller maxLength or maxItems",
    "opaque-unstable": (
        "compute the integer from the record alone, without clock, chance and environment; keep "
        "nothing between calls, and sort sets before their order counts"
    ),
    "opaque-changes-record": "work on a copy: others read the record after it",
    "opaque-changed": (
        "write the changed fact beside the old one, and a formula that reads it as a new version"
    ),
    # the check itself
    "timed-out": "find what hangs or is slow; --seconds gives it more time",
    "crashed": "find what ends the process: os._exit, a signal, or a fault of a compiled module",
    "check-failed": "fix what the message names; if it is not of the plugin, report it",
}
"""The code of each kind of finding, in the order of the checks, with what to do about it."""
