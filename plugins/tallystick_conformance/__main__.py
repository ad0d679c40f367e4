"""The process that checks a plugin: ``python -m tallystick_conformance TARGET ANSWERS``.

ANSWERS is the file that the answers go to. Standard input has what another process answered, as
JSON, to be compared; ``null`` to check.
"""

import json
import sys
from pathlib import Path

from tallystick_conformance.checks import check


def main() -> None:
    """Check, or compare."""
    target, place = sys.argv[1:]
    before = json.load(sys.stdin)
    with Path(place).open("ab") as file:

        def say(kind: str, value: object = None) -> None:
            file.write(json.dumps([kind, value], default=repr).encode() + b"\n")
            file.flush()

        check(target, say, before)


if __name__ == "__main__":
    main()
