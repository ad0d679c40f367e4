"""The most memory that a command takes, as it tells of itself.

What a process is told of a child of its own may be the peak of the parent that the child was before
it became the command.
"""

import subprocess
import sys
from pathlib import Path

_MEASURED = """
import sys
from tallystick.cli.main import main
try:
    main()
finally:
    status = open("/proc/self/status", encoding="ascii").read()
    print(status.partition("VmHWM:")[2].split()[0], file=sys.stderr)
"""


def peak(*words: str | Path, status: int = 0) -> int:
    """Return the most memory that a command takes in a process of its own, in bytes."""
    done = subprocess.run(
        [sys.executable, "-c", _MEASURED, *words],
        check=False,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    assert done.returncode == status, done.stderr
    return int(done.stderr.split()[-1]) * 1024
