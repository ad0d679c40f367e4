"""A lint report as SARIF 2.1.0, which hosts of code show beside the lines of a proposal.

https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from urllib.parse import quote

from tallystick.canonical import digest
from tallystick.diagnostics import Diagnostic
from tallystick.json_values import JsonObject
from tallystick.scoring.lint import Check
from tallystick_governance.lint.linting import Report

VERSION = "2.1.0"
SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
_FINGERPRINT = "finding/v1"
"""The name by which a finding is known again when its line or its figures have changed."""


def as_sarif(found: Report) -> JsonObject:
    """Return the report as a SARIF log of one run; paths are relative to the working directory."""
    return {
        "$schema": SCHEMA,
        "version": VERSION,
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "tallystick",
                        "version": version("tallystick"),
                        "rules": [_rule(check) for check in found.checks.values()],
                    }
                },
                "columnKind": "unicodeCodePoints",
                "results": _results(found),
                **_invocations(found),
            }
        ],
    }


def _results(found: Report) -> list[JsonObject]:
    # of results that have a baseline state, all must have one
    new = {} if found.against is None else {"baselineState": "new"}
    gone = {"baselineState": "absent"}
    index = {code: number for number, code in enumerate(found.checks)}
    return [
        *(_result(finding, index) | new for finding in found.findings),
        *(_result(s.finding, index) | new | _suppressed(s.silence.reason) for s in found.silenced),
        *(_result(finding, index) | gone for finding in found.gone),
    ]


def _invocations(found: Report) -> JsonObject:
    """Return the checks that were not made, as notifications of the run; often none."""
    texts = [f"the lints of {name} were not made: {why}" for name, why in found.refused.items()]
    if not texts:
        return {}
    notifications = [{"level": "error", "message": {"text": text}} for text in texts]
    return {
        "invocations": [{"executionSuccessful": True, "toolExecutionNotifications": notifications}]
    }


def _rule(check: Check) -> JsonObject:
    return {
        "id": check.code,
        "shortDescription": {"text": check.summary},
        "fullDescription": {"text": check.documentation},
        "help": {"text": check.remedy},
        "defaultConfiguration": {"level": check.severity},
    }


def _result(finding: Diagnostic, index: Mapping[str, int]) -> JsonObject:
    return {
        "ruleId": finding.code,
        "ruleIndex": index[finding.code],
        "level": finding.severity,
        "message": {"text": finding.message},
        "locations": [_location(finding)],
        "partialFingerprints": {_FINGERPRINT: digest([finding.code, finding.path])},
        "properties": {"evidence": finding.evidence},
    }


def _suppressed(reason: str) -> JsonObject:
    return {"suppressions": [{"kind": "inSource", "status": "accepted", "justification": reason}]}


def _location(finding: Diagnostic) -> JsonObject:
    physical: JsonObject = {"artifactLocation": {"uri": _uri(finding.file)}}
    if finding.line:
        physical["region"] = {"startLine": finding.line}
    location: JsonObject = {"physicalLocation": physical}
    if finding.path:
        location["logicalLocations"] = [{"fullyQualifiedName": finding.path}]
    return location


def _uri(file: str) -> str:
    """Return the file as a URI reference: relative below the working directory, else absolute."""
    path, here = Path(file).resolve(), Path.cwd().resolve()
    return quote(path.relative_to(here).as_posix()) if path.is_relative_to(here) else path.as_uri()
