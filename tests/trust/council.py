"""The keys of `state.signing` as signers of the engine, trust files over them, what they sign."""

from collections.abc import Sequence
from functools import cache
from typing import Any

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from state import signing
from state.signing import NETWORK, Key, toml

from tallystick_state.trust import trust_file
from tallystick_state.trust.encoding import ss58_text
from tallystick_state.trust.envelope import Envelope
from tallystick_state.trust.keys import KeyType, Signer
from tallystick_state.trust.policy import TrustRoot
from tallystick_state.trust.signers import of_private, of_seed
from tallystick_state.trust.statement import ADOPTION, Statement, Subject

GENESIS, OLD, NEW = (f"sha256:{digit * 64}" for digit in "abc")


@cache
def signer(name: str, kind: KeyType = "ed25519") -> Signer:
    """The key of a person, who signs by the engine."""
    seed = Key(name).seed
    if kind == "sr25519":
        return of_seed(seed)
    return of_private(Ed25519PrivateKey.from_private_bytes(seed))


def key_file(name: str) -> bytes:
    """The key of Ed25519 of a name, as a file without a password."""
    return Ed25519PrivateKey.from_private_bytes(Key(name).seed).private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )


def hotkey(name: str) -> str:
    """The SS58 address of the wallet of a name."""
    return ss58_text(signer(name, "sr25519").public.data)


def key(name: str, kind: KeyType = "ed25519", hotkey: str | None = None) -> dict[str, Any]:
    """A key of a trust file."""
    return signing.key(Key(name, kind), hotkey)


def tables(**changes: Any) -> dict[str, Any]:  # noqa: ANN401  # any TOML value
    """The tables of a trust file: a council of two of three; a change to None leaves a key out."""
    keys = {name: key(name) for name in ("alice", "bob", "carol")}
    return signing.root(**{"keys": keys, "events": [hotkey("eve")], **changes})


def root(**changes: Any) -> TrustRoot:  # noqa: ANN401  # as above
    """A trust root."""
    return trust_file.parse(toml(tables(**changes)), "trust.toml")


def to_adopt(action: str = "adopt", **changes: Any) -> Statement:  # noqa: ANN401  # as above
    """A statement of an adoption."""
    said = {
        "action": action,
        "genesis": GENESIS,
        "network": NETWORK,
        "line": "skills",
        "previous": OLD,
        "rule_set": NEW,
        "epoch": 20,
        "sequence": 1,
        "major": False,
    } | changes
    return Statement.of(ADOPTION, Subject.of("skills@1.1.0", said["rule_set"]), **said)


def signed(statement: Statement, signers: Sequence[Signer | str]) -> Envelope:
    """An envelope of a statement; a signer of Ed25519 may be given by its name."""
    envelope = statement.envelope()
    for each in signers:
        envelope = envelope.signed(signer(each) if isinstance(each, str) else each)
    return envelope
