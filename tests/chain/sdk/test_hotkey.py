"""Hotkeys: statements and calls are signed apart, and what is no key is refused."""

import json
from pathlib import Path

import pytest
import sr25519
from hypothesis import given
from hypothesis import strategies as st
from trust.council import signer, to_adopt

from tallystick.errors import InputError, TallystickError, TrustError
from tallystick_chain.hotkey import (
    Hotkey,
    hotkey_of,
    of_wallet,
)

SEED = b"\5" * 32

pytestmark = pytest.mark.usefixtures("private_files")


def code_of(error: pytest.ExceptionInfo[TrustError]) -> str:
    return error.value.code


def test_a_hotkey_signs_the_statements_of_a_state() -> None:
    key = Hotkey.of_seed(SEED)
    envelope = to_adopt().envelope().signed(key)
    assert envelope.verify([key.public, signer("alice").public]).signers == {key.public}


@given(st.binary(max_size=100).filter(lambda message: not message.startswith(b"<Bytes>")))
def test_a_signature_of_a_call_is_none_of_a_statement(message: bytes) -> None:
    """The same bytes, signed as one, are never signed as the other."""
    key = Hotkey.of_seed(SEED)
    statement, call = key.sign(message), key.sign_call(message)
    assert not sr25519.verify(statement, message, key.public.data)
    assert sr25519.verify(statement, b"<Bytes>" + message + b"</Bytes>", key.public.data)
    assert sr25519.verify(call, message, key.public.data)
    assert not sr25519.verify(call, b"<Bytes>" + message + b"</Bytes>", key.public.data)


@pytest.mark.parametrize("end", [b"", b"</Bytes>"])
def test_what_is_wrapped_is_signed_by_neither(end: bytes) -> None:
    key = Hotkey.of_seed(SEED)
    for sign in (key.sign, key.sign_call):
        with pytest.raises(TrustError) as error:
            sign(b"<Bytes>" + b"call" + end)
        assert code_of(error) == "signer-failed"


def test_a_wallet_without_a_password_needs_no_sdk(tmp_path: Path) -> None:
    folder = tmp_path / "mine" / "hotkeys"
    folder.mkdir(parents=True)
    (folder / "default").write_text(json.dumps({"secretSeed": f"0x{SEED.hex()}"}))
    key = of_wallet("mine", path=tmp_path)
    assert key.public == Hotkey.of_seed(SEED).public
    assert SEED.hex() not in repr(key)


def test_an_encrypted_wallet_asks_for_the_password_and_the_sdk(tmp_path: Path) -> None:
    folder = tmp_path / "mine" / "hotkeys"
    folder.mkdir(parents=True)
    (folder / "default").write_bytes(b"$NACL" + bytes(100))
    for password in (None, lambda: b""):
        with pytest.raises(TrustError) as error:
            of_wallet("mine", path=tmp_path, password=password)
        assert code_of(error) == "wrong-password"
    with pytest.raises(TallystickError, match=r"pip install 'tallystick\[bittensor\]'"):
        of_wallet("mine", path=tmp_path, password=lambda: b"secret")


def test_a_wallet_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="mine/hotkeys/default"):
        of_wallet("mine", path=tmp_path)


def test_what_signs_calls_has_a_key_of_a_hotkey_at_hand() -> None:
    key = Hotkey.of_seed(SEED)
    assert hotkey_of(key) is key
    assert hotkey_of(signer("alice", "sr25519")).address
    with pytest.raises(TrustError) as error:
        hotkey_of(signer("alice"))
    assert code_of(error) == "unknown-key-type"
