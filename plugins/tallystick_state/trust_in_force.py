"""Trust in force: whose signatures count in a state, and how that changes.

A state begins with a trust file or without one. Without one its operator decides alone, and may
give it one; from then on a trust file is followed only by one that its own groups have signed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import attrs

from tallystick.errors import DamagedError, TrustError
from tallystick.io.paths import PathLike, path_of

if TYPE_CHECKING:
    from tallystick_state.authority import Authority
    from tallystick_state.claims import Hearing
    from tallystick_state.trust.policy import TrustRoot

ROTATION = "trust"
"""The kind of the entries that put a trust file in force."""


@attrs.frozen
class TrustInForce:
    """Whose signatures count.

    Attributes:
        root: the trust file in force; None while the operator decides alone.
        first: the trust file in the first entry of the log; None without one.
        held: the digests of the trust files that were in force before.
    """

    root: TrustRoot | None = None
    first: TrustRoot | None = None
    held: frozenset[str] = frozenset()

    @classmethod
    def begun(cls, root: TrustRoot | None) -> TrustInForce:
        """Of a state that begins with a trust file, or without one."""
        return cls(root, root)

    def hearing(self, named: Hearing) -> Hearing:
        """Whose claims are taken: whom the trust file names, where there is one.

        Args:
            named: whom the state named as it began.
        """
        if self.root is None:
            return named
        return attrs.evolve(named, heard=frozenset(self.root.events))

    def rotated(self, root: TrustRoot, authority: Authority) -> TrustInForce:
        """What is in force after a rotation.

        Args:
            root: the trust file that comes.
            authority: signed by the groups ``root`` of both; by nobody where it is the first one.

        Raises:
            TrustError: it cannot follow the one in force, has expired, or too few have signed it.
        """
        from tallystick_state.trust import policy  # where there is a trust file

        if self.root is None:
            authority.check_unsigned("a first trust file")
            policy.check_root_block(root, authority.block)
            return attrs.evolve(self, root=root)
        envelope = authority.signed("a trust file")
        policy.authorise_rotation(self.root, root, envelope, authority.block, held=self.held)
        return attrs.evolve(self, root=root, held=self.held | {self.root.digest})


OPERATORS = TrustInForce()
"""Of a state that has no trust file."""


def read_root(path: PathLike) -> TrustRoot:
    """The trust file at a place, with its snapshots of stake beside it.

    Raises:
        InputError: a file cannot be read.
        TrustError: it is no trust file.
    """
    from tallystick_state.trust import trust_file  # where there is a trust file

    return trust_file.read(path_of(path, "a trust file"))


def root_to_dict(root: TrustRoot) -> dict[str, Any]:
    """What an entry says of a trust file: all that it rests on."""
    stakes = {name: each.text for name, each in root.stakes.items()}
    return {"digest": root.digest, "stakes": stakes, "text": root.text}


def root_of(said: Any, where: str) -> TrustRoot:  # noqa: ANN401  # whoever forged an entry
    """The trust file that an entry holds.

    Args:
        said: what `root_to_dict` gave.
        where: the store or the file, for errors.

    Raises:
        DamagedError: it holds none, or another one than it says.
    """
    from tallystick_state.trust import trust_file  # where there is a trust file

    if not isinstance(said, Mapping):
        raise _damaged(where, "no trust file")
    text, stakes = said.get("text"), said.get("stakes")
    if not isinstance(text, str) or not isinstance(stakes, Mapping):
        raise _damaged(where, "no trust file")
    if not all(isinstance(each, str) for each in stakes.values()):
        raise _damaged(where, "a trust file without its snapshots of stake")
    try:
        root = trust_file.parse(text, stakes, f"{where}#trust.toml")
    except TrustError as error:
        raise _damaged(where, f"a trust file that does not hold ({error})") from error
    if root_to_dict(root) != {name: said.get(name) for name in ("digest", "stakes", "text")}:
        raise _damaged(where, f"a trust file {root.digest} that is not the one of its entry")
    return root


def _damaged(where: str, found: str) -> DamagedError:
    return DamagedError(
        f"{where}: found an entry with {found}, expected one with the file, whole: restore a copy"
    )
