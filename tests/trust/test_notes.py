"""Signed notes and checkpoints: the published ones, those that are changed, and our own."""

from base64 import b64decode

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from trust.council import signer as signer_of

from tallystick.errors import TrustError
from tallystick_state.trust.checkpoint import (
    MAX_NOTE_BYTES,
    Checkpoint,
    Note,
    key_id,
    read_checkpoint,
    read_note,
)
from tallystick_state.trust.keys import KEY_TYPES, PublicKey, Signer
from tallystick_state.trust.signers import of_private

# of golang.org/x/mod, in its tests of sumdb/note (BSD-3-Clause)
PETER = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"
PETER_SEED = "AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz"
ENOCH = "EnochRoot+af0cfe78+ATtqJ7zOtqQtYqOo0CpvDXNlMhV3HeJDpjrASKGLWdop"
TEXT = (
    "If you think cryptography is the answer to your problem,\n"
    "then you don't know what your problem is.\n"
)
PETER_LINE = (
    "— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6"
    "KE6RyyBwJnAM=\n"
)
ENOCH_LINE = (
    "— EnochRoot rwz+eBzmZa0SO3NbfRGzPCpDckykFXSdeX+MNtCOXm2/5n2tiOHp+vAF1aGrQ5ovTG01oOTGwnWLox33WW"
    "d1RvMc+QQ=\n"
)

# c2sp.org/signed-note and c2sp.org/tlog-checkpoint (CC BY 4.0)
EXAMPLE_KEY = "example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k"
EXAMPLE_NOTE = (
    "This is an example message.\n\n"
    "— example.com/foo Uw2QOkn8srV1yJGh2VYRlL1Tnagv1YEq6TfXppzi2ONncAlTgK7Ztg1ERYNZXsYjOBH3mFXmRKuw"
    "HjG1Yu72IneyaQM=\n"
)
EMPTY_LINE_NOTE = (
    "Ognuno sta solo sul cuor della terra\ntrafitto da un raggio di sole:\n\ned è subito sera.\n\n"
    "— quasimodo.example/salvatore NnugSzTjtVAewIS+Z/iJhUPeFDkO/5QQ2i5ddnGITLlC+EhfLW9oJKONrMouFSQU"
    "0xMcXxj99ihAQwaqP3ZekRwNtIc=\n"
)
CHECKPOINT = (
    "example.com/behind-the-sofa\n20852163\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n\n"
    "— example.com/behind-the-sofa Az3grlgtzPICa5OS8npVmf1Myq/5IZniMp+ZJurmRDeOoRDe4URYN7u5/Zhcyv2q"
    "1gGzGku9nTo+zyWE+xeMcTOAYQ8=\n"
)


BOTH = pytest.mark.parametrize(
    "signer", [signer_of("alice", kind) for kind in KEY_TYPES], ids=KEY_TYPES
)


def code_of(data: str | bytes, *keys: PublicKey) -> str:
    """Why a note does not hold."""
    with pytest.raises(TrustError) as caught:
        read_note(data if isinstance(data, bytes) else data.encode()).signers(keys)
    return caught.value.code


def key(text: str) -> PublicKey:
    """The Ed25519 key of a verifier key of sumdb/note: its name, its id, its type and bytes."""
    name, identifier, encoded = text.split("+", 2)
    found = PublicKey("ed25519", b64decode(encoded)[1:])
    assert key_id(name, found).hex() == identifier
    return found


@pytest.mark.parametrize(
    ("note", "known"),
    [
        (f"{TEXT}\n{PETER_LINE}{ENOCH_LINE}", [PETER]),
        (f"{TEXT}\n{PETER_LINE}{ENOCH_LINE}", [PETER, ENOCH]),
        (f"{TEXT}\n{PETER_LINE}{PETER_LINE}{ENOCH_LINE}{ENOCH_LINE}", [PETER]),
        (EXAMPLE_NOTE, [EXAMPLE_KEY]),
    ],
)
def test_published_notes_hold(note: str, known: list[str]) -> None:
    read = read_note(note.encode())
    assert read.signers(map(key, known)) == set(map(key, known))
    assert read.to_text() == note
    assert read.signers([]) == frozenset()


def test_what_stands_above_the_last_empty_line_is_the_text() -> None:
    read = read_note(EMPTY_LINE_NOTE.encode())
    assert read.text.endswith("\n\ned è subito sera.\n")
    assert [each.name for each in read.signatures] == ["quasimodo.example/salvatore"]


def test_a_published_key_signs_the_published_note() -> None:
    private = Ed25519PrivateKey.from_private_bytes(b64decode(PETER_SEED)[1:])
    signer = of_private(private)
    assert signer.public == key(PETER)
    assert Note(TEXT).signed("PeterNeumann", signer).to_text() == f"{TEXT}\n{PETER_LINE}"


@pytest.mark.parametrize(
    "data",
    [
        TEXT,
        f"{TEXT}\n",
        f"{TEXT}\n{PETER_LINE[:-1]}",
        f"\x01{TEXT}\n{PETER_LINE}",
        f"\xff{TEXT}\n{PETER_LINE}".encode("latin-1", "replace"),
        f"{TEXT}\n— Bad Name x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUg==\n",
        f"{TEXT}\n{PETER_LINE}Unexpected line.\n",
        f"{TEXT}\n{PETER_LINE * 101}",
        f"{TEXT}\n— a+b QUJDREVG\n",
        f"{TEXT}\n— name QUJDRA==\n",
        f"<Bytes>{TEXT}\n{PETER_LINE}",
    ],
    ids=range(11),
)
def test_what_is_no_note_is_refused(data: str | bytes) -> None:
    assert code_of(data, key(PETER)) in {"bad-note", "bad-base64"}


def test_a_large_note_is_refused_before_it_is_read() -> None:
    assert code_of(b"a" * (MAX_NOTE_BYTES + 1)) == "too-large"


@BOTH
def test_a_note_of_either_type_holds_and_a_changed_one_does_not(signer: Signer) -> None:
    note = Note("one\n\ntwo\n").signed("log.example/7", signer)
    text = note.to_text()
    assert read_note(text.encode()).signers([signer.public]) == {signer.public}
    assert code_of(text.replace("two", "tWo"), signer.public) == "bad-signature"
    # under another name it is another key, which nobody knows
    renamed = read_note(text.replace("log.example", "log.example.org").encode())
    assert renamed.signers([signer.public]) == frozenset()
    again = note.signed("log.example/7", signer)
    assert len(again.signatures) == 1


@BOTH
def test_a_checkpoint_is_signed_under_its_origin(signer: Signer) -> None:
    bare = Checkpoint("tallystick/net/hk-1", 60, bytes(range(32)))
    assert read_checkpoint(bare.to_text().encode()) == bare
    signed = bare.signed(signer)
    read = read_checkpoint(signed.to_text().encode())
    assert read == signed
    assert read.signers([signer.public]) == {signer.public}
    other = Note(bare.text).signed("somebody-else", signer).to_text()
    assert read_checkpoint(other.encode()).signers([signer.public]) == frozenset()


def test_the_published_checkpoint_is_read() -> None:
    read = read_checkpoint(CHECKPOINT.encode())
    assert (read.origin, read.size) == ("example.com/behind-the-sofa", 20852163)
    assert read.to_text() == CHECKPOINT


ROOT = "CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I="


@pytest.mark.parametrize(
    "text",
    [
        "",
        "origin\n",
        f"origin\n7\n{ROOT}",
        f"origin\n07\n{ROOT}\n",
        f"origin\n-7\n{ROOT}\n",
        f"origin\n٧\n{ROOT}\n",
        f"origin\n{2**53}\n{ROOT}\n",
        f"\n7\n{ROOT}\n",
        f"an origin\n7\n{ROOT}\n",
        f"an+origin\n7\n{ROOT}\n",
        f"origin\n7\n{ROOT[:-4]}\n",
        f"origin\n7\n{ROOT.replace('/', '_')}\n",
        f"origin\n7\n{ROOT}\nmore\n",
        f"origin\r\n7\n{ROOT}\n",
    ],
)
def test_what_is_no_checkpoint_is_refused(text: str) -> None:
    with pytest.raises(TrustError) as caught:
        read_checkpoint(text.encode())
    assert caught.value.code in {"bad-checkpoint", "bad-note", "bad-base64"}
