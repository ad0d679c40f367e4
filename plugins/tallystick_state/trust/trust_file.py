"""``trust.toml``: whose signatures count, read as a `TrustRoot`.

Its digest is of what it says (RFC 8785 of its tables), so that comments and spelling are free. It
has no dates: what expires, expires at a block.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tallystick.canonical import digest
from tallystick.errors import TrustError
from tallystick_state.trust.encoding import (
    check_schema,
    check_size,
    hex_bytes,
    read_file,
    write_new,
)
from tallystick_state.trust.keys import PublicKey
from tallystick_state.trust.policy import (
    SignerGroup,
    TrustedKey,
    TrustRoot,
    key_of_hotkey,
)

MAX_TRUST_FILE_BYTES = 1024 * 1024
"""Maximum size of a trust file, in bytes."""

_COUNCIL = "council"


def read(path: Path) -> TrustRoot:
    """Return the content of a trust file.

    Args:
        path: the file.

    Raises:
        InputError: the file cannot be read.
        TrustError: it is no trust file, or contradicts itself.
    """
    data = read_file(path, MAX_TRUST_FILE_BYTES, "a trust file")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        raise _bad(str(path), "found bytes that are no UTF-8, expected text") from None
    return parse(text, str(path))


def _tables(text: str, where: str) -> dict[str, Any]:
    """Return the tables of a trust file, which fit its schema."""
    check_size(text.encode("utf-8", "surrogatepass"), MAX_TRUST_FILE_BYTES, where, "a trust file")
    import tomli  # where there is such a file

    try:
        value = tomli.loads(text)
    except RecursionError:
        raise _bad(where, "found tables that are nested too deep") from None
    except ValueError as error:
        raise _bad(where, f"found no TOML ({error})") from None
    _refuse_other_values(value, where, "")
    if not value.get("keys"):
        message = f"{where}: found no key, expected at least one table such as [keys.NAME]"
        raise TrustError(message, code="no-keys")
    _refuse_other_types(value["keys"], where)
    check_schema("trust-1", value, where, "bad-trust-file")
    return value


def _refuse_other_values(value: object, where: str, path: str) -> None:
    """Refuse what has no canonical form: numbers with a point, dates and times."""
    if isinstance(value, dict):
        for name, item in value.items():
            _refuse_other_values(item, where, f"{path}.{name}".removeprefix("."))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            _refuse_other_values(item, where, f"{path}.{index}")
    elif not isinstance(value, str | int):
        raise _bad(where, f"{path}: found {value}, expected text or a whole number: no dates")


def _refuse_other_types(keys: object, where: str) -> None:
    """Refuse a type of keys that there is not, by its own code."""
    for name, key in keys.items() if isinstance(keys, dict) else ():
        kind = key.get("type") if isinstance(key, dict) else None
        if isinstance(kind, str) and kind not in ("ed25519", "sr25519"):
            message = f"{where}: keys.{name}.type: found {kind[:60]!r}, expected ed25519 or sr25519"
            raise TrustError(message, code="unknown-key-type")


def parse(text: str, where: str) -> TrustRoot:
    """Return the content of the text of a trust file.

    Args:
        text: the file.
        where: its name, for errors.

    Raises:
        TrustError: it is no trust file, or contradicts itself.
    """
    value = _tables(text, where)
    keys = {name: _key(name, table, where) for name, table in sorted(value["keys"].items())}
    _check_one_hotkey(keys, where)
    groups = {
        name: _group(name, table, keys, where) for name, table in sorted(value["groups"].items())
    }
    for role in ("adopt", "root"):
        for name in value[role]:
            if name not in groups:
                raise _bad(where, f"{role}: found no group {name!r}, expected a table of [groups]")
    return TrustRoot(
        version=value["version"],
        network=value["network"],
        previous=value.get("previous"),
        expires_at_block=value.get("expires_at_block"),
        keys=keys,
        groups=groups,
        adopt=tuple(value["adopt"]),
        root=tuple(value["root"]),
        events=tuple(value["events"]),
        digest=digest(value),
        text=text,
        gate=value.get("gate"),
    )


def _key(name: str, value: Mapping[str, Any], where: str) -> TrustedKey:
    try:
        public = PublicKey(value["type"], hex_bytes(value["public"]))
    except TrustError as error:
        raise TrustError(f"{where}: keys.{name}: {error}", code=error.code) from None
    hotkey = value.get("hotkey")
    own = key_of_hotkey(hotkey) if hotkey is not None else None
    if own is not None and own.type == public.type and own != public:
        message = f"{where}: keys.{name}: found {public}, expected {own}, whose address {hotkey} is"
        raise TrustError(message, code="bad-key")
    return TrustedKey(name, public, hotkey)


def _check_one_hotkey(keys: Mapping[str, TrustedKey], where: str) -> None:
    """Refuse a key of two hotkeys: who has it would speak for two validators."""
    hotkeys = dict[PublicKey, str]()
    for key in keys.values():
        if key.hotkey is not None and hotkeys.setdefault(key.public, key.hotkey) != key.hotkey:
            pair = f"{hotkeys[key.public]} and {key.hotkey}"
            raise _bad(where, f"keys.{key.name}: found one key for {pair}, expected one hotkey")


def _group(
    name: str, value: Mapping[str, Any], keys: Mapping[str, TrustedKey], where: str
) -> SignerGroup:
    location = f"{where}: groups.{name}"
    for key in value["keys"]:
        if key not in keys:
            raise _bad(location, f"found no key {key!r}, expected a table of [keys]")
    distinct = len({keys[key].public for key in value["keys"]})
    if value["threshold"] > distinct:
        problem = f"found threshold {value['threshold']}, expected at most {distinct}"
        message = f"{location}: {problem}: so many distinct keys there are"
        raise TrustError(message, code="unreachable-threshold")
    return SignerGroup(tuple(value["keys"]), value["threshold"])


def _bad(where: str, problem: str) -> TrustError:
    return TrustError(f"{where}: {problem}", code="bad-trust-file")


def write(  # noqa: PLR0913  # what a trust file can say
    path: Path,
    before: TrustRoot | None,
    *,
    network: str | None = None,
    signers: Mapping[str, PublicKey] | None = None,
    threshold: int | None = None,
    validators: Sequence[str] = (),
    expires_at_block: int | None = None,
    gate: str | None = None,
) -> TrustRoot:
    """Write a trust file that can be put in force, and return its content.

    What is left out is as in the file before; its comments and other groups stay.

    Args:
        path: the file, which must not be there yet.
        before: the file that it follows; None: it is a first one.
        network: its name.
        signers: the keys of the council, by name.
        threshold: how many of them have to sign; None: more than half.
        validators: whose batches of events are accepted.
        expires_at_block: the block at which it expires; None: at none, whatever the file before.
        gate: the digest of the policy that a change of rules has to pass.

    Raises:
        OutputError: the file is there, or cannot be written.
        TrustError: it is no trust file, or cannot follow the one before.
    """
    import tomlkit  # to write a trust file alone

    document: Any
    if before is None:
        document = tomlkit.document()
        document.update({"format": 1, "version": 1, "network": network})
        document.update({"adopt": [_COUNCIL], "root": [_COUNCIL], "events": []})
    else:
        document = tomlkit.parse(before.text)
        document.update({"version": before.version + 1, "previous": before.digest})
        document.pop("expires_at_block", None)
    own = {"network": network, "expires_at_block": expires_at_block, "gate": gate}
    document.update({name: value for name, value in own.items() if value is not None})
    if validators:
        document["events"] = [*validators]
    if signers:
        document["keys"] = {
            name: {"type": key.type, "public": key.data.hex()} for name, key in signers.items()
        }
    if signers or threshold is not None:
        names = [*(signers or _council(before))]
        groups = document.setdefault("groups", {})
        groups[_COUNCIL] = {"keys": names, "threshold": threshold or len(names) // 2 + 1}
    text = tomlkit.dumps(document)
    root = parse(text, str(path))
    if before is not None:
        before.check_successor(root)
    write_new(path, text.encode(), "a trust file", 0o644)
    return root


def _council(before: TrustRoot | None) -> Sequence[str]:
    """Return the names of the keys of the council of a trust file."""
    if before is None or _COUNCIL not in before.groups:
        message = f"found no group {_COUNCIL!r}, expected one that a threshold is of"
        raise TrustError(message, code="bad-trust-file")
    return before.groups[_COUNCIL].keys
