"""New trust files: a council of keys, of which so many have to sign."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs
import tomlkit

from tallystick.errors import OutputError, TrustError
from tallystick_state.trust.keys import PublicKey
from tallystick_state.trust.policy import TrustRoot, check_succession
from tallystick_state.trust.trust_file import parse

_COUNCIL = "council"
_CLOSED = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


@attrs.frozen(kw_only=True)
class TrustFile:
    """What a new trust file says; what is left out is that of the file before.

    Attributes:
        network: its name.
        signers: the keys of the council, by name.
        threshold: how many of them have to sign; None: more than half.
        validators: whose batches of events are accepted.
        expires_at_block: the block at which it expires; None: at none.
    """

    network: str | None = None
    signers: Mapping[str, PublicKey] = attrs.field(factory=dict)
    threshold: int | None = None
    validators: tuple[str, ...] = ()
    expires_at_block: int | None = None


def write_new(path: Path, wanted: TrustFile, before: TrustRoot | None = None) -> TrustRoot:
    """Write a trust file that can be put in force, and return what it says.

    Args:
        path: the file, which must not be there yet.
        wanted: what it says.
        before: the file that it follows; None: it is a first one.

    Raises:
        OutputError: the file is there, or cannot be written.
        TrustError: it is no trust file, or cannot follow the one before.
    """
    text = _text(wanted, before)
    stakes = {} if before is None else {n: each.text for n, each in before.stakes.items()}
    root = parse(text, stakes, str(path))
    if before is not None:
        check_succession(before, root, held=[before.digest])
    try:
        number = os.open(path, _CLOSED, 0o644)
    except FileExistsError as error:
        message = f"{path}: found a file, expected none: a trust file is never replaced"
        raise OutputError(message) from error
    except (OSError, ValueError) as error:
        raise OutputError(f"{path}: cannot be written ({error}): check the name") from error
    try:
        with os.fdopen(number, "w", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        path.unlink(missing_ok=True)
        raise OutputError(f"{path}: cannot be written ({error}): check the space") from error
    return root


def _text(wanted: TrustFile, before: TrustRoot | None) -> str:
    # a change of the file before keeps its comments, groups and stake
    document: Any = tomlkit.document() if before is None else tomlkit.parse(before.text)
    if before is None:
        document.update({"format": 1, "version": 1, "network": wanted.network})
        document.update({"adopt": [_COUNCIL], "root": [_COUNCIL], "events": []})
    else:
        document["version"] = before.version + 1
        document["previous"] = before.digest
        document.pop("expires_at_block", None)
        if wanted.network is not None:
            document["network"] = wanted.network
    if wanted.expires_at_block is not None:
        document["expires_at_block"] = wanted.expires_at_block
    if wanted.validators:
        document["events"] = [*wanted.validators]
    if wanted.signers:
        document["keys"] = {
            name: {"type": key.type, "public": key.data.hex()}
            for name, key in wanted.signers.items()
        }
    if wanted.signers or wanted.threshold is not None:
        names = [*wanted.signers]
        if before is not None and not names:
            if _COUNCIL not in before.groups:
                message = f"found no group {_COUNCIL!r}, expected one that a threshold is of"
                raise TrustError(message, code="bad-trust-file")
            names = [*before.groups[_COUNCIL].keys]
        threshold = len(names) // 2 + 1 if wanted.threshold is None else wanted.threshold
        groups = document.setdefault("groups", {})
        groups[_COUNCIL] = {"keys": names, "threshold": threshold}
    return tomlkit.dumps(document)
