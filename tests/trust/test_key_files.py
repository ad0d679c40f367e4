"""Keys of files, of wallets and of commands outside: what they sign, and what is refused."""

import json
import stat
import sys
from pathlib import Path

import pytest
import sr25519
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from state.signing import ALICE
from trust.council import hotkey, signer

from tallystick.errors import OutputError, TrustError
from tallystick_state.trust.keys import KeyType
from tallystick_state.trust.signers import new_key, of_command, read_key, read_wallet

pytestmark = pytest.mark.usefixtures("private_files")

MESSAGE = b"DSSEv1 4 text 7 message"
_SEED = ALICE.seed

# a stranger's implementation of the same contract
ED25519_PROGRAM = f"""
import sys
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
signature = Ed25519PrivateKey.from_private_bytes({_SEED!r}).sign(sys.stdin.buffer.read())
"""
SR25519_PROGRAM = f"""
import sys
import sr25519
given = sys.stdin.buffer.read()
assert given.startswith(b"<Bytes>") and given.endswith(b"</Bytes>")
signature = sr25519.sign(sr25519.pair_from_seed({_SEED!r}), given)
"""


def no_password() -> bytes:
    raise AssertionError


def program(folder: Path, text: str) -> str:
    """A command that runs a program."""
    path = folder / "a signer.py"
    path.write_text(text)
    return f"{sys.executable} '{path}'"


@pytest.mark.parametrize("password", [None, b"secret", "geheim…".encode()])
def test_a_new_key_signs(password: bytes | None, tmp_path: Path) -> None:
    path = tmp_path / "key.pem"
    made = new_key(path, password)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert (b"ENCRYPTED" in path.read_bytes()) is (password is not None)
    read = read_key(path, no_password if password is None else lambda: password)
    assert read.public == made.public
    assert made.public.verifies(MESSAGE, read.sign(MESSAGE))


def test_a_key_is_never_replaced(tmp_path: Path) -> None:
    path, link = tmp_path / "key.pem", tmp_path / "link.pem"
    path.write_text("mine")
    link.symlink_to(tmp_path / "elsewhere")
    for name in (path, link):
        with pytest.raises(OutputError, match="never replaced"):
            new_key(name, None)
    assert path.read_text() == "mine"
    assert not (tmp_path / "elsewhere").exists()
    with pytest.raises(OutputError, match="cannot be written"):
        new_key(tmp_path / "none" / "key.pem", None)


def test_a_key_that_openssl_would_write(tmp_path: Path) -> None:
    path = tmp_path / "key.pem"
    private = Ed25519PrivateKey.from_private_bytes(_SEED)
    pem = private.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.BestAvailableEncryption(b"secret"),
    )
    path.write_bytes(b"a comment\n" + pem)
    assert read_key(path, lambda: b"secret").public == signer("alice").public


def test_a_key_of_another_type(tmp_path: Path) -> None:
    path = tmp_path / "key.pem"
    other = rsa.generate_private_key(65537, 2048)
    pem = other.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    path.write_bytes(pem)
    with pytest.raises(TrustError) as error:
        read_key(path, no_password)
    assert error.value.code == "unknown-key-type"
    path.write_bytes(pem[:-100])
    with pytest.raises(TrustError) as error:
        read_key(path, no_password)
    assert error.value.code == "bad-key"


def test_a_wallet_signs(tmp_path: Path) -> None:
    path, alice = tmp_path / "hotkey", signer("alice", "sr25519").public
    # as bittensor writes it: what it does not know is null
    said: dict[str, object] = {
        "accountId": f"0x{alice.data.hex()}",
        "publicKey": f"0x{alice.data.hex()}",
        "privateKey": None,
        "secretPhrase": "some words that are not read",
        "secretSeed": f"0x{_SEED.hex()}",
        "ss58Address": hotkey("alice"),
    }
    path.write_text(json.dumps(said))
    found = read_wallet(path)
    assert found.public == alice
    assert alice.verifies(MESSAGE, found.sign(MESSAGE))
    said |= {"secretSeed": None, "privateKey": f"0x{sr25519.pair_from_seed(_SEED)[1].hex()}"}
    path.write_text(json.dumps(said))
    assert read_wallet(path).public == alice


def test_no_secret_is_shown(tmp_path: Path) -> None:
    found = signer("alice", "sr25519")
    assert _SEED.hex() not in repr(found)
    assert repr(found).count("secret") == 0
    assert "private" not in repr(new_key(tmp_path / "key.pem", None))


@pytest.mark.process
@pytest.mark.parametrize(
    ("kind", "text", "written"),
    [
        ("ed25519", ED25519_PROGRAM, "print(signature.hex())"),
        ("ed25519", ED25519_PROGRAM, "import base64; print(base64.b64encode(signature).decode())"),
        ("sr25519", SR25519_PROGRAM, "print('0x' + signature.hex())"),
    ],
    ids=["hex", "base64", "wallet"],
)
def test_a_command_signs(kind: KeyType, text: str, written: str, tmp_path: Path) -> None:
    public = signer("alice", kind).public
    outside = of_command(program(tmp_path, text + written), public)
    # more than a pipe holds
    message = MESSAGE * 10_000
    assert public.verifies(message, outside.sign(message))


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("print('00' * 64)", "found no signature by"),
        ("print('00' * 63)", "gave something else"),
        ("print('no signature')", "gave something else"),
        ("pass", "found no signature by"),
        ("raise SystemExit(3)", "exit status 3"),
        ("print('0' * 5000)", "found no signature by"),
        ("import sys; sys.stdout.buffer.write(bytes([255]))", "gave something else"),
    ],
)
def test_a_command_that_does_not_sign(text: str, told: str, tmp_path: Path) -> None:
    outside = of_command(program(tmp_path, text), signer("alice").public)
    with pytest.raises(TrustError, match=told) as error:
        outside.sign(MESSAGE)
    assert error.value.code == "signer-failed"


@pytest.mark.nightly
@pytest.mark.parametrize("command", ["", "  ", "'open", "./no-such-signer", "/dev/null"])
def test_a_command_that_does_not_start(command: str) -> None:
    with pytest.raises(TrustError) as error:
        of_command(command, signer("alice").public).sign(MESSAGE)
    assert error.value.code == "signer-failed"
