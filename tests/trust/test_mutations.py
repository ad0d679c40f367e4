"""1 000 of 1 000 mutations of a signed file are refused, in both key types."""

import base64
import random
from collections.abc import Callable

import attrs
import pytest
from trust.council import root, signer, to_adopt

from tallystick.errors import TrustError
from tallystick.json_values import json_value
from tallystick_state.trust.envelope import Envelope, Signature
from tallystick_state.trust.keys import KeyType, PublicKey, Signer
from tallystick_state.trust.policy import TrustedKey, TrustRoot

MUTATIONS = 1000
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_="


def with_data(envelope: Envelope, data: bytes) -> Envelope:
    (signature,) = envelope.signatures
    return attrs.evolve(envelope, signatures=(Signature(signature.keyid, data),))


def signature_length(envelope: Envelope, chance: random.Random) -> Envelope:
    data, length = envelope.signatures[0].data, chance.randrange(64)
    return with_data(envelope, chance.choice([data[:length], data + bytes(length + 1)]))


def no_marker(envelope: Envelope, chance: random.Random) -> Envelope:
    """The highest bit of the signature the other way, and a chance that another is, too."""
    data = bytearray(envelope.signatures[0].data)
    data[63] ^= 0x80
    data[chance.randrange(32)] ^= chance.choice([0, 1])
    return with_data(envelope, bytes(data))


def swapped(envelope: Envelope, chance: random.Random) -> Envelope:
    """The signature of another statement by the same key, or the halves the other way round."""
    data = envelope.signatures[0].data
    other = to_adopt(sequence=chance.randint(2, 10**6)).envelope().signed(_signer_of(envelope))
    return with_data(envelope, chance.choice([data[32:] + data[:32], other.signatures[0].data]))


def _signer_of(envelope: Envelope) -> Signer:
    return SR if envelope.signatures[0].keyid == SR.public.keyid else ED


ED, SR = signer("alice"), signer("alice", "sr25519")
MUTATORS: tuple[Callable[[Envelope, random.Random], Envelope], ...] = (
    signature_length,
    no_marker,
    swapped,
)


def trusting(public: PublicKey) -> TrustRoot:
    """A trust file whose council is one key."""
    groups = {"council": {"keys": ["alice"], "threshold": 1}}
    return attrs.evolve(root(groups=groups), keys={"alice": TrustedKey("alice", public)})


@pytest.mark.parametrize("mutate", MUTATORS)
@pytest.mark.parametrize("kind", ["ed25519", "sr25519"])
def test_another_signature_is_of_nothing(
    kind: KeyType, mutate: Callable[[Envelope, random.Random], Envelope]
) -> None:
    chance, by, expected = random.Random(kind), signer("alice", kind), to_adopt()
    envelope, trusted = expected.envelope().signed(by), trusting(by.public)
    for _ in range(100):
        mutant = mutate(envelope, chance)
        assert mutant != envelope
        assert not mutant.verify([by.public]).signers
        with pytest.raises(TrustError):
            trusted.authorise(expected, mutant, None)


@pytest.mark.parametrize("kind", ["ed25519", "sr25519"])
def test_a_thousand_mutations_of_a_file(kind: KeyType) -> None:
    """Of its bytes: what is read all the same, is another statement, or the very same."""
    chance, by, expected = random.Random(kind), signer("alice", kind), to_adopt()
    envelope, trusted = expected.envelope().signed(by), trusting(by.public)
    data, passed = envelope.to_json(), 0
    for _ in range(MUTATIONS):
        place, letter = chance.randrange(len(data)), ord(chance.choice(_LETTERS))
        changed = data[:place] + bytes([letter]) + data[place + chance.choice([0, 1]) :]
        try:
            mutant = Envelope.of_json(changed, "mutant")
            trusted.authorise(expected, mutant, None)
        except TrustError:
            continue
        # the keyid alone is a hint: whatever else is read is what was signed
        assert (mutant.payload, mutant.payload_type) == (envelope.payload, envelope.payload_type)
        assert mutant.signatures[0].data == envelope.signatures[0].data
        passed += mutant == envelope
    assert passed < MUTATIONS // 10


@pytest.mark.parametrize("kind", ["ed25519", "sr25519"])
def test_another_key_with_the_keyid_of_a_trusted_one(kind: KeyType) -> None:
    by, mallory, expected = signer("alice", kind), signer("mallory", kind), to_adopt()
    forged = expected.envelope().signed(mallory)
    forged = attrs.evolve(
        forged, signatures=(Signature(by.public.keyid, forged.signatures[0].data),)
    )
    with pytest.raises(TrustError, match="does not verify"):
        trusting(by.public).authorise(expected, forged, None)


def other_spellings(text: str) -> list[str]:
    """Base64 that a lenient reader takes for the same bytes."""
    body = text.rstrip("=")
    place = _LETTERS.index(body[-1])
    return [
        body,
        f"{text}=",
        f"{text}\n",
        f" {text}",
        f"{text[:4]}\n{text[4:]}",
        f"{text[:4]}={text[4:]}",
        f"{body[:-1]}{_LETTERS[place ^ 1]}{'=' * (len(text) - len(body))}",
    ]


def test_base64_has_one_spelling() -> None:
    envelope = to_adopt().envelope().signed(ED)
    (signature,) = envelope.signatures
    text = base64.b64encode(signature.data).decode()
    assert text.endswith("==")
    for other in other_spellings(text):
        value = {**json_value(envelope), "signatures": [{"keyid": "", "sig": other}]}
        with pytest.raises(TrustError) as error:
            Envelope.of_value(value, "mutant")
        assert error.value.code == "bad-base64", other
    mixed = (
        base64.b64encode(b"\xfb\xff\xbf").decode() + base64.urlsafe_b64encode(b"\xfb" * 3).decode()
    )
    value = {**json_value(envelope), "payload": mixed}
    with pytest.raises(TrustError) as error:
        Envelope.of_value(value, "mutant")
    assert error.value.code == "bad-base64"
