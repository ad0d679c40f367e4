"""The lock: files below ``.ci/lock``, each line a package, its version and its hashes.

``runtime`` has what the project needs, ``build`` what builds it, ``installer`` what installs the
others, ``test`` all of those and the rest of what the tests need.
"""

import re
from pathlib import Path

import attrs
from packaging.requirements import Requirement
from packaging.version import Version

ROOT = Path(__file__).resolve().parents[2]
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")


@attrs.frozen
class Entry:
    """A line of the lock."""

    requirement: Requirement
    hashes: frozenset[str]

    @property
    def version(self) -> Version:
        (pin,) = self.requirement.specifier
        assert pin.operator == "=="
        return Version(pin.version)

    def is_for(self, python: str) -> bool:
        """Whether it is installed by a version of Python on Linux."""
        environment = {
            "python_full_version": f"{python}.9",
            "python_version": python,
            "platform_python_implementation": "CPython",
            "implementation_name": "cpython",
            "sys_platform": "linux",
            "platform_system": "Linux",
        }
        marker = self.requirement.marker
        return marker is None or marker.evaluate(environment)


def entries(name: str) -> list[Entry]:
    """The lines of a file of the lock; an option, an address or anything else is an error."""
    text = (ROOT / ".ci" / "lock" / f"{name}.txt").read_text(encoding="utf-8")
    found = []
    for line in text.replace("\\\n", " ").splitlines():
        if line.strip() and not line.strip().startswith("#"):
            asked, *hashes = re.split(r"\s+(?=--)", line)
            matches = [_HASH.fullmatch(each.strip()) for each in hashes]
            assert all(matches), line
            requirement = Requirement(asked)
            assert requirement.url is None, line
            found.append(Entry(requirement, frozenset(m[1] for m in matches if m)))
    return found
