"""The process that checks a plugin: ``python -m tallystick.conformance TARGET --answer FILE``.

The answer is one JSON value a line, each written as soon as it is known, so that it is kept when
the process ends before its time. What the plugin prints takes no part in it.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import IO, Any

import attrs

from tallystick.conformance.loading import Subject
from tallystick.conformance.report import LOADING
from tallystick.conformance.target import Target, find
from tallystick.diagnostics import Diagnostic


def main() -> None:
    """Check one plugin, or take the digest of its opaque facts alone."""
    parser = argparse.ArgumentParser(prog="python -m tallystick.conformance")
    parser.add_argument("target")
    parser.add_argument("--answer", type=Path, required=True)
    parser.add_argument("--digest", action="store_true")
    chosen = parser.parse_args()
    target = find(chosen.target)
    with chosen.answer.open("a", encoding="utf-8") as answer:
        _Session(answer).run(target, digest=chosen.digest)


@attrs.frozen
class _Session:
    """One run, which writes down what it learns."""

    answer: IO[str]

    def run(self, target: Target, *, digest: bool) -> None:
        # before the plugin's folders are looked in, so that none of its modules hides another
        import numpy  # noqa: F401, ICN001, PLC0415  # which the engine loads late

        from tallystick.conformance.checks import every  # noqa: PLC0415
        from tallystick.conformance.loading import load_subject  # noqa: PLC0415

        sys.path[:0] = map(str, target.paths)
        self.say(begin=LOADING)
        subject = load_subject(target)
        if isinstance(subject, Diagnostic):
            self.say(found=attrs.asdict(subject))
        elif digest:
            self.say(digest=_digest(subject))
        else:
            self.say(about=_about(subject))
            for each in every(subject):
                said = {"begin": each} if isinstance(each, str) else {"found": attrs.asdict(each)}
                self.say(**said)
            if subject.has_opaque_facts:
                self.say(digest=_digest(subject))
        self.say(end=True)

    def say(self, **value: Any) -> None:  # noqa: ANN401  # JSON values
        """Write one line at once."""
        print(json.dumps(value, default=repr), file=self.answer, flush=True)


def _about(subject: Subject) -> dict[str, Any]:
    plugin = subject.plugin
    return {
        "folder": str(subject.folder),
        "formulas": {formula.name: formula.digest for formula in plugin.formulas},
        "skill_types": len(plugin.skill_types),
    }


def _digest(subject: Subject) -> str:
    from tallystick.conformance.opaque import values_digest  # noqa: PLC0415

    return values_digest(subject)


if __name__ == "__main__":
    main()
