"""Attacks by name: each is refused with its code, and what is sound beside it is allowed."""

from collections.abc import Sequence
from typing import Any

import attrs
import pytest
from trust.council import key, root, signed, signer, to_adopt

from tallystick.errors import TrustError
from tallystick.json_values import json_value
from tallystick_state.trust import envelope as envelopes
from tallystick_state.trust.envelope import MAX_SIGNATURES, Envelope, Signature
from tallystick_state.trust.points import ORDER

COUNCIL = ["alice", "bob"]


def test_another_spelling_of_a_statement() -> None:
    payload = to_adopt().payload.replace(b'"epoch":20', b'"epoch": 20')
    envelope = attrs.evolve(to_adopt().envelope(), payload=payload)
    for name in COUNCIL:
        envelope = envelope.signed(signer(name))
    with pytest.raises(TrustError) as error:
        root().authorise(to_adopt(), envelope, None)
    assert error.value.code == "not-canonical"


@pytest.mark.parametrize(
    ("signers", "lacking"),
    # a key in two groups counts in each
    [
        (["bob"], None),
        (["alice", "carol"], None),
        (["alice"], "elders has 0 of 2 keys, expected 1"),
    ],
)
def test_every_group_has_to_reach_its_threshold(
    signers: Sequence[str], lacking: str | None
) -> None:
    groups = {
        "council": {"keys": ["alice", "bob"], "threshold": 1},
        "elders": {"keys": ["bob", "carol"], "threshold": 1},
    }
    trusted = root(groups=groups, adopt=["council", "elders"])
    envelope = signed(to_adopt(), signers)
    if lacking is None:
        assert trusted.authorise(to_adopt(), envelope, None) == tuple(signers)
        return
    with pytest.raises(TrustError, match=lacking) as error:
        trusted.authorise(to_adopt(), envelope, None)
    assert error.value.code == "threshold-not-met"


def test_a_duplicate_key_in_a_quorum() -> None:
    keys = {"alice": key("alice"), "alias": key("alice"), "bob": key("bob")}
    group = {"keys": ["alice", "alias", "bob"], "threshold": 2}
    trusted = root(keys=keys, groups={"council": group})
    alone = signed(to_adopt(), ["alice"])
    (signature,) = alone.signatures
    # the same signature under another label, and under none
    doubled = attrs.evolve(
        alone,
        signatures=(signature, Signature("", signature.data), Signature("alias", signature.data)),
    )
    with pytest.raises(TrustError, match="council has 1 of 3 keys, expected 2"):
        trusted.authorise(to_adopt(), doubled, None)
    trusted.authorise(to_adopt(), signed(to_adopt(), COUNCIL), None)


def test_two_signatures_of_one_key() -> None:
    keys = {name: key(name, "sr25519") for name in ("alice", "bob")}
    trusted = root(keys=keys, groups={"council": {"keys": ["alice", "bob"], "threshold": 2}})
    alice, statement = signer("alice", "sr25519"), to_adopt().envelope()
    both = [Signature(alice.public.keyid, alice.sign(statement.pae)) for _ in range(2)]
    assert both[0] != both[1]
    with pytest.raises(TrustError, match="council has 1 of 2 keys, expected 2"):
        trusted.authorise(to_adopt(), attrs.evolve(statement, signatures=both), None)


@pytest.mark.parametrize("kind", ["ed25519", "sr25519"])
def test_malleable(kind: Any) -> None:  # noqa: ANN401  # one of the two
    keys = {"alice": key("alice", kind)}
    trusted = root(keys=keys, groups={"council": {"keys": ["alice"], "threshold": 1}})
    envelope = to_adopt().envelope().signed(signer("alice", kind))
    (signature,) = envelope.signatures
    data = signature.data
    marker = 0x80 << 248 if kind == "sr25519" else 0
    scalar = int.from_bytes(data[32:], "little") - marker + ORDER
    other = data[:32] + (scalar + marker).to_bytes(32, "little")
    forged = attrs.evolve(envelope, signatures=(Signature(signature.keyid, other),))
    with pytest.raises(TrustError, match="is not canonical") as error:
        trusted.authorise(to_adopt(), forged, None)
    assert error.value.code == "threshold-not-met"


def test_signatures_of_strangers_do_no_harm() -> None:
    envelope = signed(to_adopt(), [*COUNCIL, "mallory"])
    rubbish = [Signature("", bytes([n]) * 64) for n in range(60)]
    shorter = [Signature("", b""), Signature("x" * 256, b"short")]
    more = attrs.evolve(envelope, signatures=(*rubbish, *shorter, *envelope.signatures))
    root().authorise(to_adopt(), more, None)


def test_too_many_signatures() -> None:
    envelope = signed(to_adopt(), COUNCIL)
    value = json_value(envelope)
    value["signatures"] *= MAX_SIGNATURES
    with pytest.raises(TrustError) as error:
        Envelope.of_value(value, "many")
    assert error.value.code == "too-many-signatures"


def test_no_more_tries_than_there_may_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(envelopes, "MOST_TRIES", 100)
    strangers = [signer(f"stranger-{n}").public for n in range(2)]
    rubbish = tuple(Signature("", bytes([n % 128]) * 63 + b"\0") for n in range(MAX_SIGNATURES))
    rubbish = tuple(attrs.evolve(each, keyid=str(n)) for n, each in enumerate(rubbish))
    envelope = attrs.evolve(to_adopt().envelope(), signatures=rubbish)
    with pytest.raises(TrustError) as error:
        envelope.verify(strangers)
    assert error.value.code == "too-many-signatures"


def test_what_is_wrapped_already_is_not_signed() -> None:
    alice = signer("alice", "sr25519")
    with pytest.raises(TrustError) as error:
        alice.sign(b"<Bytes>message</Bytes>")
    assert error.value.code == "signer-failed"
    signature = alice.sign(b"message")
    assert alice.public.verifies(b"message", signature)
    assert not alice.public.verifies(b"<Bytes>message</Bytes>", signature)
