"""The process that checks a plugin: ``python -m tallystick_conformance TARGET ANSWERS``.

ANSWERS is the file that the answers go to. Standard input has what another process answered, as
JSON, to be compared; ``null`` to check.
"""

import json
import sys
from pathlib import Path

import attrs

from tallystick_conformance.checks import answers


def main() -> None:
    """Check, or compare."""
    target, place = sys.argv[1:]
    before = json.load(sys.stdin)
    with Path(place).open("ab") as file:
        for kind, value in answers(target, before):
            plain = attrs.asdict(value) if attrs.has(type(value)) else value
            file.write(json.dumps([kind, plain], default=repr).encode() + b"\n")
            file.flush()


if __name__ == "__main__":
    main()
