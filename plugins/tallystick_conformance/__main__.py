"""The process that checks a plugin: ``python -m tallystick_conformance TARGET ANSWERS``.

ANSWERS is the descriptor of a pipe. The first line of standard input is a JSON object: the key of
the answers, and what another process answered, to be compared. When standard input ends, the check
is ended.
"""

import json
import sys

from tallystick_conformance.answers import writer
from tallystick_conformance.supervisor import supervised


def main() -> None:
    """Fork, so that one process watches over the other, which checks."""
    target, descriptor = sys.argv[1], int(sys.argv[2])
    order = json.loads(sys.stdin.buffer.readline())
    key = bytes.fromhex(order["key"])
    of_supervisor = writer(descriptor, key, "supervisor")
    supervised(lambda names: of_supervisor(left=names))
    # no process but that which checks needs them
    from tallystick_conformance.checks import check

    check(target, writer(descriptor, key, "check"), order["before"])


if __name__ == "__main__":
    main()
