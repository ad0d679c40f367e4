"""Bad files: truncated, oversized, of other types, with duplicate keys: a clear error each time."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from state.signing import ALICE
from trust.council import hotkey, key, root, signed, signer, tables, to_adopt, toml

from tallystick.errors import TrustError
from tallystick_state.trust import trust_file
from tallystick_state.trust.envelope import MAX_ENVELOPE_BYTES, Envelope
from tallystick_state.trust.keys import PublicKey
from tallystick_state.trust.signers import MAX_KEY_FILE_BYTES, read_key, read_wallet
from tallystick_state.trust.statement import PAYLOAD_TYPE, statement_of, statement_of_receipt

pytestmark = pytest.mark.usefixtures("private_files")


def wallet(**changes: Any) -> str:  # noqa: ANN401  # any JSON value
    """A plain wallet file; a change to None leaves a field out."""
    alice = signer("alice", "sr25519").public.data
    found = {
        "accountId": f"0x{alice.hex()}",
        "publicKey": f"0x{alice.hex()}",
        "secretSeed": f"0x{ALICE.seed.hex()}",
        "ss58Address": hotkey("alice"),
    }
    return json.dumps({name: value for name, value in {**found, **changes}.items() if value})


def no_password() -> bytes:
    raise AssertionError


SOUND: dict[str, bytes] = {
    "envelope": signed(to_adopt(), ["alice", "bob"]).to_json(),
    "trust": toml(tables()).encode(),
    "wallet": wallet().encode(),
}


def read(kind: str, path: Path) -> object:
    match kind:
        case "envelope":
            envelope = Envelope.of_json(path.read_bytes(), str(path))
            return statement_of(envelope, str(path))
        case "trust":
            return trust_file.read(path)
    return read_wallet(path)


def cut(data: bytes) -> Iterator[bytes]:
    yield from (data[:end] for end in range(0, len(data) - 2, 7))


def damaged(data: bytes) -> Iterator[bytes]:
    yield from (data[:at] + b"\xff" + data[at + 1 :] for at in range(0, len(data), 11))
    yield from (data[:at] + b"\x00" + data[at:] for at in range(0, len(data), 11))


@pytest.mark.parametrize("kind", SOUND)
@pytest.mark.parametrize("change", [cut, damaged])
def test_what_is_cut_or_damaged(
    kind: str, change: Callable[[bytes], Iterator[bytes]], tmp_path: Path
) -> None:
    path = tmp_path / kind
    path.write_bytes(SOUND[kind])
    assert read(kind, path)
    refused = 0
    for data in change(SOUND[kind]):
        path.write_bytes(data)
        try:
            read(kind, path)
        except TrustError as error:
            refused += len(str(error)) < 1000
    # TOML that is cut behind a line can be a smaller file; nothing else may be read
    assert refused > 10


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "null", "1", '"text"', "{}", "[" * 100_000, '{"a":' * 100_000, "\ufeff{}"],
    ids=["empty", "open", "list", "null", "number", "text", "object", "deep", "deeper", "mark"],
)
def test_what_is_no_envelope(text: str) -> None:
    with pytest.raises(TrustError) as error:
        Envelope.of_json(text.encode(), "bad")
    assert error.value.code == "bad-envelope"


@pytest.mark.parametrize("deep", [200, 300, 900])
def test_what_is_nested_deeper_than_the_format(deep: int, tmp_path: Path) -> None:
    """The parsers follow it further than the schemas do."""
    nested, path = "[" * deep + "]" * deep, tmp_path / "trust.toml"
    with pytest.raises(TrustError) as caught:
        Envelope.of_json(f'{{"payload":{nested}}}'.encode(), "deep.json")
    assert caught.value.code == "bad-envelope"
    path.write_text(toml(tables()) + f"\n[keys.deep{'.a' * deep}]\n")
    with pytest.raises(TrustError) as caught:
        trust_file.read(path)
    assert caught.value.code == "bad-trust-file"


def test_duplicate_keys() -> None:
    text = SOUND["envelope"].decode()
    for twice in (
        text.replace('{"payload"', '{"payload":"","payload"', 1),
        text.replace('{"keyid"', '{"keyid":"","keyid"', 1),
    ):
        with pytest.raises(TrustError, match="stands twice") as error:
            Envelope.of_json(twice.encode(), "bad")
        assert error.value.code == "bad-envelope"
    # so many take minutes where each is looked for among all
    keys = ",".join(f'"k{number}":0' for number in range(200_000))
    with pytest.raises(TrustError, match=r"k199999.*stands twice"):
        Envelope.of_json(f'{{{keys},"k199999":0}}'.encode(), "bad")
    payload = to_adopt().payload.replace(b'"epoch":20', b'"epoch":20,"epoch":20')
    with pytest.raises(TrustError, match="stands twice") as error:
        statement_of(Envelope(payload, PAYLOAD_TYPE), "bad")
    assert error.value.code == "bad-statement"
    with pytest.raises(TrustError) as error:
        trust_file.parse(toml(tables()) + "\n[keys.alice]\n", "bad")
    assert error.value.code == "bad-trust-file"


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"epoch": "20"}, "bad-statement"),
        ({"epoch": 0}, "bad-statement"),
        ({"epoch": 2**31}, "bad-statement"),
        ({"sequence": 0}, "bad-statement"),
        ({"sequence": True}, "bad-statement"),
        ({"major": 1}, "bad-statement"),
        ({"genesis": "sha256:ABC"}, "bad-statement"),
        ({"network": "Subnet 42"}, "bad-statement"),
        ({"line": ""}, "bad-statement"),
        ({"expires_at_block": -1}, "bad-statement"),
    ],
    ids=str,
)
def test_an_adoption_of_other_types(changes: dict[str, Any], code: str) -> None:
    envelope = to_adopt(**changes).envelope()
    with pytest.raises(TrustError) as error:
        statement_of(envelope, "bad")
    assert error.value.code == code
    (name,) = changes
    assert name in str(error.value)


@pytest.mark.parametrize("size", [MAX_ENVELOPE_BYTES + 1, 2 * MAX_ENVELOPE_BYTES])
def test_an_oversized_envelope_is_not_parsed(size: int) -> None:
    # it would be refused as no JSON, were it parsed
    with pytest.raises(TrustError) as error:
        Envelope.of_json(b"[" * size, "big")
    assert error.value.code == "too-large"


def test_other_oversized_files(tmp_path: Path) -> None:
    for most, read_it in (
        (trust_file.MAX_TRUST_FILE_BYTES, trust_file.read),
        (MAX_KEY_FILE_BYTES, read_wallet),
        (MAX_KEY_FILE_BYTES, lambda path: read_key(path, no_password)),
        (1024 * 1024, statement_of_receipt),
    ):
        path = tmp_path / "big"
        path.write_bytes(b"[" * (most + 1))
        with pytest.raises(TrustError) as error:
            read_it(path)
        assert error.value.code == "too-large"


KEYS = tables()["keys"]


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"keys": None}, "no-keys"),
        ({"keys": {}}, "no-keys"),
        ({"keys": {**KEYS, "alice": {**KEYS["alice"], "type": "rsa"}}}, "unknown-key-type"),
        ({"keys": {**KEYS, "alice": {**KEYS["alice"], "public": "00" * 32}}}, "bad-key"),
        ({"keys": {**KEYS, "alice": {**KEYS["alice"], "public": "00"}}}, "bad-trust-file"),
        ({"keys": {**KEYS, "alice": {**KEYS["alice"], "more": 1}}}, "bad-trust-file"),
        (
            {"keys": {**KEYS, "alice": key("alice", "sr25519", hotkey("bob"))}},
            "bad-key",
        ),
        (
            {"keys": {**KEYS, "a": key("dave", hotkey="x"), "b": key("dave", hotkey="y")}},
            "bad-trust-file",
        ),
        ({"format": 2}, "bad-trust-file"),
        ({"version": 0}, "bad-trust-file"),
        ({"version": 1.0}, "bad-trust-file"),
        ({"network": ""}, "bad-trust-file"),
        ({"gate": "sha256:b8fb"}, "bad-trust-file"),
        ({"gate": ["sha256:" + "0" * 64]}, "bad-trust-file"),
        ({"previous": "sha256:abc"}, "bad-trust-file"),
        ({"adopt": []}, "bad-trust-file"),
        ({"adopt": ["nobody"]}, "bad-trust-file"),
        ({"root": []}, "bad-trust-file"),
        ({"root": ["nobody"]}, "bad-trust-file"),
        ({"events": None}, "bad-trust-file"),
        ({"events": ["x", "x"]}, "bad-trust-file"),
        ({"events": ["x" * 65]}, "bad-trust-file"),
        ({"groups": {"council": {"keys": [], "threshold": 1}}}, "bad-trust-file"),
        ({"groups": {"council": {"keys": ["nobody"], "threshold": 1}}}, "bad-trust-file"),
        ({"groups": {"council": {"keys": ["alice"], "threshold": 2}}}, "unreachable-threshold"),
        ({"groups": {"council": {"keys": ["alice"]}}}, "bad-trust-file"),
        (
            {"groups": {"council": {"keys": ["alice"], "threshold": 1, "share": "1/2"}}},
            "bad-trust-file",
        ),
        ({"groups": {"council": {"keys": ["alice"], "share": "1/2"}}}, "bad-trust-file"),
    ],
)
def test_trust_files_that_contradict_themselves(changes: dict[str, Any], code: str) -> None:
    with pytest.raises(TrustError) as error:
        root(**changes)
    assert error.value.code == code
    assert str(error.value).startswith("trust.toml: ")


@pytest.mark.parametrize("expiry", ["2027-01-01", "2027-01-01T00:00:00Z", "12:00:00", "5e6", "nan"])
def test_what_expires_has_no_date(expiry: str) -> None:
    text = f"expires_at_block = {expiry}\n{toml(tables())}"
    with pytest.raises(TrustError, match="no dates") as error:
        trust_file.parse(text, "trust.toml")
    assert error.value.code == "bad-trust-file"


def test_a_comment_changes_no_digest() -> None:
    text = toml(tables())
    other = "# a comment\n" + text.replace(" = ", "   =   ")
    first, second = (trust_file.parse(each, "trust.toml") for each in (text, other))
    assert first.digest == second.digest
    assert first.text != second.text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "ed25519",
        "ed25519:",
        "ed25519:zz",
        "rsa:" + "00" * 32,
        "ed25519:" + "D7" * 32,
        "x" * 999,
    ],
)
def test_texts_that_are_no_key(text: str) -> None:
    with pytest.raises(TrustError) as error:
        PublicKey.of_text(text)
    assert error.value.code in {"bad-key", "unknown-key-type"}
    assert len(str(error.value)) < 300


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("$NACL rest", "encrypted-wallet"),
        ("$ANSIBLE_VAULT;1.1", "encrypted-wallet"),
        ("gAAAAA==", "encrypted-wallet"),
        ("[]", "bad-key"),
        ("{}", "bad-key"),
        (wallet(secretSeed=None, secretPhrase="one two three"), "encrypted-wallet"),
        (wallet(secretSeed=None, privateKey="0x" + "ff" * 64), "bad-key"),
        (wallet(secretSeed="0x00"), "bad-key"),
        (wallet(secretSeed=7), "bad-key"),
        (wallet(secretSeed="0x" + "11" * 32), "bad-key"),
        (wallet(ss58Address=hotkey("bob")), "bad-key"),
        (wallet(ss58Address="5Nonsense"), "bad-key"),
        (wallet(accountId="0x" + "22" * 32), "bad-key"),
    ],
)
def test_wallets_that_do_not_sign(text: str, code: str, tmp_path: Path) -> None:
    path = tmp_path / "hotkey"
    path.write_text(text)
    with pytest.raises(TrustError) as error:
        read_wallet(path)
    assert error.value.code == code
    # no secret is told
    assert "11" * 32 not in str(error.value)
