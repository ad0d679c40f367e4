"""Published vectors: RFC 8032, Wycheproof, DSSE, in-toto, sr25519 of polkadot-js, RFC 9496."""

import json
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, utils
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.hashes import SHA256

from tallystick.errors import TrustError
from tallystick_state.trust import points
from tallystick_state.trust.encoding import ss58_bytes, ss58_text
from tallystick_state.trust.envelope import Envelope, pae
from tallystick_state.trust.keys import PublicKey
from tallystick_state.trust.signers import of_private
from tallystick_state.trust.statement import PAYLOAD_TYPE, statement_of

_VECTORS = Path(__file__).parent / "vectors"


def vectors(name: str) -> Any:  # noqa: ANN401  # any JSON value
    return json.loads((_VECTORS / f"{name}.json").read_text("utf-8"))


@pytest.mark.parametrize(
    ("seed", "public", "message", "signature"),
    [
        (
            "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
            "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
            "",
            (
                "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e397"
                "01cf9b46bd25bf5f0595bbe24655141438e7a100b"
            ),
        ),
        (
            "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
            "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
            "72",
            (
                "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f361"
                "3d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"
            ),
        ),
        (
            "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
            "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
            "af82",
            (
                "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f76"
                "0984dc6594a7c15e9716ed28dc027beceea1ec40a"
            ),
        ),
    ],
    ids=["test-1", "test-2", "test-3"],
)
def test_rfc_8032(seed: str, public: str, message: str, signature: str) -> None:
    private = Ed25519PrivateKey.from_private_bytes(bytes.fromhex(seed))
    signer = of_private(private)
    assert signer.public.data.hex() == public
    assert signer.sign(bytes.fromhex(message)).hex() == signature
    assert signer.public.verifies(bytes.fromhex(message), bytes.fromhex(signature))


def test_wycheproof() -> None:
    rows = vectors("wycheproof_ed25519")["rows"]
    assert len(rows) == 151
    wrong = [
        (number, flag)
        for number, public, message, signature, valid, flag in rows
        if PublicKey.of_text(f"ed25519:{public}").verifies(
            bytes.fromhex(message), bytes.fromhex(signature)
        )
        is not valid
    ]
    assert wrong == []


@pytest.mark.parametrize("vector", vectors("dsse")["vectors"], ids=lambda each: each["id"])
def test_dsse(vector: dict[str, Any]) -> None:
    known = vectors("dsse")["keys"]
    keys = [PublicKey.of_text(f"ed25519:{known[name]}") for name in vector["trusted"]]
    try:
        envelope = Envelope.of_json(json.dumps(vector["envelope"]).encode(), "vector")
        signers = envelope.verify(keys).signers
    except TrustError:
        assert vector["expect"] == "reject"
        return
    assert (len(signers) >= vector["threshold"]) is (vector["expect"] == "accept")
    if vector["expect"] == "accept":
        assert envelope.pae.hex() == vector["pae"]


def test_the_example_of_the_protocol_of_dsse() -> None:
    # secure-systems-lab/dsse protocol.md: ECDSA over our encoding, r and s in a row
    x = 46950820868899156662930047687818585632848591499744589407958293238635476079160
    y = 5640078356564379163099075877009565129882514886557779369047442380624545832820
    text = (
        '{"payload": "aGVsbG8gd29ybGQ=", "payloadType": "http://example.com/HelloWorld", '
        '"signatures": [{"sig": "A3JqsQGtVsJ2O2xqrI5IcnXip5GToJ3F+FnZ+O88SjtR6rDAajabZKciJTfUiHqJP'
        'cIAriEGAHTVeCUjW2JIZA=="}]}'
    )
    envelope = Envelope.of_json(text.encode(), "example")
    assert envelope.pae == b"DSSEv1 29 http://example.com/HelloWorld 11 hello world"
    (signature,) = envelope.signatures
    r, s = (int.from_bytes(half, "big") for half in (signature.data[:32], signature.data[32:]))
    key = ec.EllipticCurvePublicNumbers(x, y, ec.SECP256R1()).public_key()
    key.verify(utils.encode_dss_signature(r, s), envelope.pae, ec.ECDSA(SHA256()))


def test_the_length_of_a_type_counts_bytes() -> None:
    assert pae("ä", b"") == b"DSSEv1 2 \xc3\xa4 0 "


def in_toto(text: str) -> Envelope:
    return Envelope(text.encode(), PAYLOAD_TYPE)


_SUBJECT = '"subject":[{"name":"theSub","digest":{"alg1":"abc123"}}]'
_PREDICATE = '"predicate":{"keyObj":{"subKey":"subVal"}}'


def test_a_statement_of_in_toto() -> None:
    # in-toto/attestation go/v1/statement_test.go
    text = f'{{"_type":"https://in-toto.io/Statement/v1",{_SUBJECT},"predicateType":"thePredicate",'
    found = statement_of(in_toto(f"{text}{_PREDICATE}}}"), "vector")
    assert found.predicate_type == "thePredicate"
    assert found.predicate == {"keyObj": {"subKey": "subVal"}}
    assert [(each.name, each.digests) for each in found.subject] == [("theSub", {"alg1": "abc123"})]
    # version 1.1: an unset predicate is an empty one, and unknown fields are ignored
    assert statement_of(in_toto(f'{text}"more":1}}'), "vector").predicate == {}


@pytest.mark.parametrize(
    "text",
    [
        f'{{"_type":"https://in-toto.io/Statement/v0",{_SUBJECT},"predicateType":"p",{_PREDICATE}}}',
        f'{{"_type":"https://in-toto.io/Statement/v1","subject":[],"predicateType":"p",{_PREDICATE}}}',
        (
            '{"_type":"https://in-toto.io/Statement/v1","subject":[{"name":"theSub","downloadLocation":'
            f'"https://example.com/test.zip"}}],"predicateType":"p",{_PREDICATE}}}'
        ),
        f'{{"_type":"https://in-toto.io/Statement/v1",{_SUBJECT},"predicateType":"",{_PREDICATE}}}',
    ],
    ids=["type", "no-subject", "no-digest", "no-predicate-type"],
)
def test_what_in_toto_refuses(text: str) -> None:
    with pytest.raises(TrustError) as error:
        statement_of(in_toto(text), "vector")
    assert error.value.code == "bad-statement"


@pytest.mark.parametrize(
    ("kind", "address", "signature"),
    [
        # polkadot-js/common packages/util-crypto/src/signature/verify.spec.ts, Apache-2.0
        (
            "sr25519",
            "EK1bFgKm2FsghcttHT7TB7rNyXApFgs9fCbijMGQNyFGBQm",
            (
                "ca01419b5a17219f7b78335658cab3b126db523a5df7be4bfc2bef76c2eb3b1dcf4ca86eb877d0a6cf6df12"
                "db5995c51d13b00e005d053b892bd09c594434288"
            ),
        ),
        (
            "sr25519",
            "J9nD3s7zssCX7bion1xctAF6xcVexcpy2uwy4jTm9JL8yuK",
            (
                "84b6afb1c8e54bbcb3f4872baf172580e21310e9387a53742627d6652d121447fa406b82805ed3184fb7bd5"
                "19175cc9f99f283f97954d95cf966ee164df85489"
            ),
        ),
        (
            "ed25519",
            "DxN4uvzwPzJLtn17yew6jEffPhXQfdKHTp2brufb98vGbPN",
            (
                "299d3bf4c8bb51af732f8067b3a3015c0862a5ff34721749d8ed6577ea2708365d1c5f76bd519009971e411"
                "56f12c70abc2533837ceb3bad9a05a99ab923de06"
            ),
        ),
    ],
    ids=["raw", "wrapped", "ed25519"],
)
def test_polkadot_js(kind: str, address: str, signature: str) -> None:
    public = PublicKey(kind, ss58_bytes(address))  # type: ignore[arg-type]  # one of the two
    assert public.verifies(b"hello world", bytes.fromhex(signature))
    assert not public.verifies(b"hello worlds", bytes.fromhex(signature))


def test_addresses() -> None:
    # the published key //Alice of every development chain, on Substrate, Polkadot and Kusama
    alice = bytes.fromhex("d43593c715fdd31c61141abd04a99fd6822c8558854ccde39a5684e7a56da27d")
    addresses = {
        42: "5GrwvaEF5zXb26Fz9rcQpDWS57CtERHpNehXCPcNoHGKutQY",
        0: "15oF4uVJwmo4TdGW7VfQxNLavjCXviqxT9S1MgbjMNHr6Sp5",
        2: "HNZata7iMYWmk5RvZRTiAsSDhV8366zq2YGb3tLH5Upf74F",
    }
    assert {prefix: ss58_text(alice, prefix) for prefix in addresses} == addresses
    assert {ss58_bytes(text) for text in addresses.values()} == {alice}


def test_encodings_of_ristretto_that_are_none() -> None:
    found = vectors("points")["ristretto_bad"]
    assert len(found) == 30
    assert not [each for each in found if points.is_ristretto_key(bytes.fromhex(each))]


def test_points_of_edwards25519_that_are_no_key() -> None:
    found = vectors("points")
    bad = [*found["edwards_small_order"], *found["edwards_not_canonical"]]
    assert len(bad) == 12
    assert not [each for each in bad if points.is_edwards_key(bytes.fromhex(each))]
