"""Who may what: groups, batches, rotations and blocks."""

from typing import Any

import pytest
from trust.council import (
    GENESIS,
    NETWORK,
    hotkey,
    key,
    root,
    signed,
    signer,
    to_adopt,
)

from tallystick.errors import TrustError
from tallystick_state.trust.policy import TrustRoot
from tallystick_state.trust.statement import Statement, events


def refusal(trusted: TrustRoot, *signers: str) -> str:
    """The code by which an adoption is refused; empty where it is not."""
    expected = to_adopt()
    try:
        trusted.authorise(expected, signed(expected, signers), None)
    except TrustError as error:
        return error.code
    return ""


def test_a_council_of_two_of_three() -> None:
    assert refusal(root(), "alice", "carol") == ""
    assert refusal(root(), "alice", "bob", "carol") == ""
    assert refusal(root(), "alice") == "threshold-not-met"
    assert refusal(root(), "alice", "mallory") == "threshold-not-met"


def test_every_group_has_to_reach_its_threshold() -> None:
    groups = {
        "council": {"keys": ["alice", "bob"], "threshold": 1},
        "elders": {"keys": ["bob", "carol"], "threshold": 1},
    }
    trusted = root(groups=groups, adopt=["council", "elders"])
    # a key in two groups counts in each
    assert refusal(trusted, "bob") == ""
    assert refusal(trusted, "alice", "carol") == ""
    assert refusal(trusted, "alice") == "threshold-not-met"


def test_a_refusal_names_who_signed_and_what_is_lacking() -> None:
    with pytest.raises(TrustError) as error:
        root().authorise(to_adopt(), signed(to_adopt(), ["alice", "mallory"]), None)
    said = str(error.value)
    assert "council has 1 of 3 keys, expected 2" in said
    assert "signed by alice" in said
    assert f"a signature of {signer('mallory').public.keyid[:16]} is of no known key" in said


def batch(validator: str, **changes: Any) -> Statement:  # noqa: ANN401  # as above
    said: dict[str, Any] = {
        "genesis": GENESIS,
        "network": NETWORK,
        "validator": validator,
        "digests": ["d" * 64],
        "file": "events.jsonl",
        "digest": f"sha256:{'e' * 64}",
    }
    return events(**{**said, **changes})


def test_a_batch_is_signed_by_its_validator() -> None:
    eve, eves = signer("eve", "sr25519"), batch(hotkey("eve"))
    root().authorise(eves, signed(eves, [eve]), None)
    with pytest.raises(TrustError, match="no key of") as error:
        root().authorise(eves, signed(eves, ["alice", "bob", "carol"]), None)
    assert error.value.code == "threshold-not-met"


def test_a_key_that_names_the_hotkey_signs_its_batches() -> None:
    keys = {"alice": key("alice"), "bob": key("bob", hotkey="opaque"), "carol": key("carol")}
    trusted, bobs = root(keys=keys, events=["opaque"]), batch("opaque")
    trusted.authorise(bobs, signed(bobs, ["bob"]), None)
    with pytest.raises(TrustError, match="no key of opaque has signed"):
        trusted.authorise(bobs, signed(bobs, ["alice"]), None)


def test_a_batch_of_who_is_not_heard() -> None:
    mallorys = batch(hotkey("mallory"))
    signature = signed(mallorys, [signer("mallory", "sr25519")])
    with pytest.raises(TrustError, match="that the trust file hears") as error:
        root().authorise(mallorys, signature, None)
    assert error.value.code == "unheard-validator"


def test_what_the_caller_leaves_out_of_a_statement_is_not_compared() -> None:
    eve, eves = signer("eve", "sr25519"), batch(hotkey("eve"))
    known = {name: value for name, value in eves.predicate.items() if name != "events"}
    expected = Statement(eves.predicate_type, known)
    root().authorise(expected, signed(eves, [eve]), None)


def test_a_rotation_is_signed_by_the_old_and_the_new() -> None:
    old = root()
    keys = {name: key(name) for name in ("carol", "dave", "erin")}
    group = {"keys": ["carol", "dave", "erin"], "threshold": 2}
    new = root(version=2, previous=old.digest, keys=keys, groups={"council": group})
    said = new.rotation_statement()
    old.authorise_successor(new, signed(said, ["alice", "carol", "dave"]), None)
    for lacking in (["alice", "bob"], ["carol", "dave"], ["alice", "dave", "erin"]):
        with pytest.raises(TrustError) as error:
            old.authorise_successor(new, signed(said, lacking), None)
        assert error.value.code == "threshold-not-met"
