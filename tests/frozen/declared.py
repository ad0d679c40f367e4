"""Artefacts that may differ from `expected/`, each with the change that makes it differ.

A format that may change once is declared here by the commit that changes it. The declaration ends
with the commit that takes the artefact into `expected/`: the test refuses one that nothing needs.
"""

from collections.abc import Mapping

DECLARED: Mapping[str, str] = {
    "machine/diff-skills.json.lines": "bounds of a case are those of the proof, and narrower",
    "machine/state-*-export.jsonl.lines": "the header of an export has the format 9",
}
"""The reason by pattern of the names below `expected/`, such as ``machine/lint-*.json``."""
