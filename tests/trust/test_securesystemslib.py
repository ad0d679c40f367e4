"""securesystemslib verifies our envelopes, and we its."""

import json

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from securesystemslib.dsse import Envelope as TheirEnvelope
from securesystemslib.exceptions import VerificationError
from securesystemslib.signer import CryptoSigner, SSlibKey
from trust.council import signed, signer, to_adopt

from tallystick_state.trust.envelope import Envelope
from tallystick_state.trust.keys import PublicKey
from tallystick_state.trust.signers import of_private
from tallystick_state.trust.statement import PAYLOAD_TYPE


def their_key(public: PublicKey) -> SSlibKey:
    return SSlibKey(public.keyid, "ed25519", "ed25519", {"public": public.data.hex()})


def test_they_verify_ours() -> None:
    envelope = signed(to_adopt(), ["alice", "bob"])
    keys = [signer(name).public for name in ("alice", "bob", "carol")]
    found = TheirEnvelope.from_dict(json.loads(envelope.to_json()))
    assert found.pae() == envelope.pae
    accepted = found.verify([their_key(key) for key in keys], 2)
    assert accepted.keys() == {key.keyid for key in keys[:2]}
    with pytest.raises(VerificationError):
        found.verify([their_key(key) for key in keys], 3)


def test_we_verify_theirs() -> None:
    private = Ed25519PrivateKey.from_private_bytes(b"theirs".ljust(32, b"."))
    theirs = CryptoSigner(private)
    envelope = TheirEnvelope(to_adopt().payload, PAYLOAD_TYPE, {})
    envelope.sign(theirs)
    found = Envelope.of_json(json.dumps(envelope.to_dict()).encode(), "theirs")
    public = of_private(private).public
    assert theirs.public_key.keyid == public.keyid
    assert found.verify([public, signer("alice").public]).signers == {public}
    assert not found.verify([signer("alice").public]).signers
