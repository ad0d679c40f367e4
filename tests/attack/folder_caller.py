"""Looks settings up from many working folders as another user; a program, started by the attack.

Arguments: the user, and its group. Each line of the standard input is a JSON array of a working
folder and what the user trusts; for each, one with the file that counts and those that do not is
written, and the bytes that were read.
"""

import json
import logging
import os
import sys

import tallystick.io.documents  # while everything can be read
import tallystick.io.ownership  # noqa: F401  # as above
from tallystick.cli.settings import TRUSTED_VARIABLE, nearest


class _Ignored(logging.Handler):
    """Keeps the files that are told to be ignored."""

    def __init__(self) -> None:
        super().__init__()
        self.paths = list[str]()

    def emit(self, record: logging.LogRecord) -> None:
        """Keep the name of one."""
        assert isinstance(record.args, tuple)
        self.paths.append(str(record.args[0]))


def main() -> None:
    """Answer each line."""
    user, group = map(int, sys.argv[1:])
    ignored = _Ignored()
    logging.getLogger("tallystick").addHandler(ignored)
    cases = [json.loads(line) for line in sys.stdin]
    if os.geteuid() == 0:
        os.setgroups([])
        os.setresgid(group, group, group)
    saved = os.geteuid()
    for folder, trusted in cases:
        ignored.paths.clear()
        os.environ[TRUSTED_VARIABLE] = os.pathsep.join(trusted)
        os.chdir(folder)
        os.seteuid(user)
        file = nearest("tallystick.toml", 4096)
        os.seteuid(saved)
        found = None if file is None else [str(file.path), file.data.decode()]
        sys.stdout.write(json.dumps([found, ignored.paths]) + "\n")


main()
