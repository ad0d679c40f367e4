"""Artefacts that may differ from `expected/`, each with the change that makes it differ.

A format that may change once is declared here by the commit that changes it. The declaration ends
with the commit that takes the artefact into `expected/`: the test refuses one that nothing needs.
"""

from collections.abc import Mapping

DECLARED: Mapping[str, str] = {
    "machine/demo.json": "the skill type reward has examples",
    "machine/explain-*": "an explanation has its verdict",
    "machine/facts*": "a file of facts has the columns and the digests of the type reward",
    "machine/made.jsonl.lines": "records of the type reward are made",
    "machine/plugins-list.json": "the plugin reward is listed",
    "machine/prove-*": "of weights a fourth law is asked: that somebody has one",
    "machine/rules-list.json": "reward@1.0.0 is listed",
}
"""The reason by pattern of the names below `expected/`, such as ``machine/lint-*.json``."""
