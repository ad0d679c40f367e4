"""Keys, trust files and envelopes that are made by hand, as DSSE, in-toto and our pages say.

Nothing of the engine makes them: keys sign by their own libraries, JSON is canonical by rfc8785.
"""

import base64
import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

import attrs
import rfc8785
import sr25519
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

PAYLOAD_TYPE = "application/vnd.in-toto+json"
STATEMENT = "https://in-toto.io/Statement/v1"
NETWORK = "subnet-test"
Said = dict[str, Any]


@attrs.frozen
class Key:
    """A key of a person or of a validator."""

    name: str
    type: Literal["ed25519", "sr25519"] = "ed25519"

    @property
    def seed(self) -> bytes:
        """Its secret, which is made of its name."""
        return hashlib.sha256(f"a key of the tests: {self.name}".encode()).digest()

    @property
    def public(self) -> bytes:
        """Its public part."""
        if self.type == "ed25519":
            return Ed25519PrivateKey.from_private_bytes(self.seed).public_key().public_bytes_raw()
        public: bytes = sr25519.pair_from_seed(self.seed)[0]
        return public

    @property
    def keyid(self) -> str:
        """As securesystemslib names it."""
        public = {"public": self.public.hex()}
        said = {"keytype": self.type, "keyval": public, "scheme": self.type}
        return hashlib.sha256(rfc8785.dumps(said)).hexdigest()

    def sign(self, message: bytes) -> bytes:
        """A signature."""
        if self.type == "ed25519":
            return Ed25519PrivateKey.from_private_bytes(self.seed).sign(message)
        signature: bytes = sr25519.sign(
            sr25519.pair_from_seed(self.seed), b"<Bytes>" + message + b"</Bytes>"
        )
        return signature


ALICE, BOB, CAROL, DAVE = map(Key, ("alice", "bob", "carol", "dave"))
VAL_1, VAL_2 = Key("val-1"), Key("val-2", "sr25519")
"""Of two validators, whose hotkeys are their names."""
PEOPLE = (ALICE, BOB, CAROL, DAVE, VAL_1, VAL_2)


def digest(said: object) -> str:
    """The digest of what a file says."""
    return "sha256:" + hashlib.sha256(rfc8785.dumps(said)).hexdigest()  # type: ignore[arg-type]  # JSON


def pae(payload: bytes, payload_type: str = PAYLOAD_TYPE) -> bytes:
    """What DSSE signs."""
    return b"DSSEv1 %d %s %d %s" % (
        len(payload_type),
        payload_type.encode(),
        len(payload),
        payload,
    )


def root(version: int = 1, **changes: Any) -> Said:  # noqa: ANN401  # any keys of a trust file
    """A root of which two of alice, bob and carol decide; None leaves a key out."""
    said: Said = {
        "format": 1,
        "version": version,
        "network": NETWORK,
        "adopt": ["council"],
        "root": ["council"],
        "events": ["val-1", "val-2"],
        "keys": {each.name: key(each) for each in PEOPLE},
        "groups": {"council": {"keys": ["alice", "bob", "carol"], "threshold": 2}},
    }
    return {name: value for name, value in (said | changes).items() if value is not None}


def key(of: Key, hotkey: str | None = None) -> Said:
    """A key of a trust file; that of a validator names it."""
    own = of.name if of in {VAL_1, VAL_2} else None
    named = hotkey or own
    said = {"type": of.type, "public": of.public.hex()}
    return said if named is None else said | {"hotkey": named}


def written_root(folder: Path, said: Said) -> Path:
    """The trust file of a root."""
    path = folder / f"trust-{digest(said)[7:15]}.toml"
    path.write_text(toml(said) + "\n", encoding="utf-8")
    return path


def toml(said: Said, path: tuple[str, ...] = ()) -> str:
    """Tables as TOML, by hand: JSON texts, numbers and lists are TOML too."""
    tables = {name: value for name, value in said.items() if isinstance(value, dict)}
    lines = [f"[{'.'.join(map(json.dumps, path))}]"] if path else []
    lines += [
        f"{json.dumps(name)} = {json.dumps(value)}"
        for name, value in said.items()
        if name not in tables
    ]
    lines += [toml(value, (*path, name)) for name, value in tables.items()]
    return "\n".join(lines)


def genesis(lines: Mapping[str, str], trust: Said | None) -> str:
    """What statements name a state by: the rule sets and the trust root that it began with."""
    began = None if trust is None else digest(trust)
    return digest({"format": 1, "lines": dict(lines), "trust": began})


def envelope(kind: str, predicate: Said, *signers: Key, subject: Said | None = None) -> bytes:
    """A statement with a predicate of ours, signed."""
    named = subject or {"name": kind, "digest": {"sha256": hashlib.sha256(b"").hexdigest()}}
    payload = rfc8785.dumps(
        {
            "_type": STATEMENT,
            "predicateType": f"urn:tallystick:predicate:{kind}-1",
            "predicate": predicate,
            "subject": [named],
        }
    )
    return sealed(payload, *signers)


def sealed(payload: bytes, *signers: Key, payload_type: str = PAYLOAD_TYPE) -> bytes:
    """An envelope of some bytes, signed."""
    made = [(each.keyid, each.sign(pae(payload, payload_type))) for each in signers]
    signatures = [
        {"keyid": keyid, "sig": base64.b64encode(signature).decode()}
        for keyid, signature in sorted(made)
    ]
    said = {
        "payload": base64.b64encode(payload).decode(),
        "payloadType": payload_type,
        "signatures": signatures,
    }
    return rfc8785.dumps(said) + b"\n"


def record_digest(record: Said) -> str:
    """The hexadecimal digest of a record: its RFC 8785 form without what is null or empty."""
    return hashlib.sha256(rfc8785.dumps(_kept(record))).hexdigest()


def _kept(said: object) -> Any:  # noqa: ANN401  # JSON
    if isinstance(said, dict):
        kept = {name: _kept(value) for name, value in said.items()}
        return {name: value for name, value in kept.items() if value not in (None, [], {})}
    return [_kept(each) for each in said] if isinstance(said, list) else said


def late_digest(event: Said) -> str:
    """The hexadecimal digest of a late event: of the line that a state keeps of it."""
    said = {name: value for name, value in event.items() if name != "event"}
    line = said | {"events": [event["event"]], "missed": False}
    return hashlib.sha256(rfc8785.dumps(line)).hexdigest()


def batch(
    began: str, validator: str, digests: Iterable[str], *signers: Key, network: str = NETWORK
) -> bytes:
    """A signed batch of a validator's records and late events."""
    listed = sorted(set(digests))
    predicate = {
        "format": 1,
        "genesis": began,
        "network": network,
        "validator": validator,
        "events": listed,
    }
    return envelope("events", predicate, *signers)
