"""The schemas of signed things: what we write fits them, they are as closed as they say."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import tomli
from trust.council import GENESIS, NETWORK, NEW, root, signed, signer, tables, to_adopt
from trust.council import toml as toml_text

from tallystick.errors import TrustError
from tallystick.resources import folder
from tallystick_state.trust import statement as statements
from tallystick_state.trust.keys import PublicKey, Signer
from tallystick_state.trust.signers import read_key
from tallystick_state.trust.statement import Statement, Subject, statement_of

pytestmark = pytest.mark.usefixtures("private_files")

PREDICATES: dict[str, Statement] = {
    "adoption": to_adopt(),
    "rule-set": Statement.of(
        statements.RULE_SET, Subject.of("a@1.0.0", NEW), reference="a@1.0.0", digest=NEW, text=NEW
    ),
    "events": statements.events(
        genesis=GENESIS,
        network=NETWORK,
        validator="val-1",
        digests=["d" * 64, "c" * 64, "d" * 64],
        file="folder/events.jsonl",
        digest=NEW,
    ),
    "receipt": Statement.of(
        statements.RECEIPT, Subject.of("results.jsonl", NEW), receipt={"format": 1}
    ),
    "trust": root().rotation_statement(),
}
OPEN = ("envelope-1", "statement-1")
"""What others define: members that are not ours are ignored."""
OURS = ("trust-1", *OPEN, *(f"predicate-{name}-1" for name in PREDICATES))


def schema(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder("schemas") / f"{name}.schema.json").read_text())
    return found


def fits(name: str, value: object) -> bool:
    """By another validator than the one of the engine."""
    return bool(jsonschema.Draft202012Validator(schema(name)).is_valid(value))


def objects(part: object) -> Iterator[dict[str, Any]]:
    """Every schema of an object whose members are named."""
    if isinstance(part, dict):
        if "properties" in part:
            yield part
        for each in part.values():
            yield from objects(each)
    elif isinstance(part, list):
        for each in part:
            yield from objects(each)


@pytest.mark.parametrize("name", OURS)
def test_a_schema_is_sound_and_closed(name: str) -> None:
    found = schema(name)
    jsonschema.Draft202012Validator.check_schema(found)
    assert found["$id"] == f"urn:tallystick:schema:{name}"
    for part in objects(found):
        if name not in OPEN:
            assert part["additionalProperties"] is False


@pytest.mark.parametrize("name", PREDICATES)
def test_what_is_signed_fits_its_schemas(name: str) -> None:
    made = PREDICATES[name]
    envelope = signed(made, ["alice"])
    assert fits("envelope-1", json.loads(envelope.to_json()))
    assert fits("statement-1", json.loads(envelope.payload))
    assert fits(f"predicate-{name}-1", made.predicate)
    assert not fits(f"predicate-{name}-1", {**made.predicate, "more": 1})
    assert statement_of(envelope, "made") == made
    assert made.kind == name


def test_files_fit_their_schemas() -> None:
    assert fits("trust-1", tomli.loads(toml_text(tables())))


def test_events_of_a_batch_are_sorted_and_each_once() -> None:
    assert PREDICATES["events"].predicate["events"] == ["c" * 64, "d" * 64]
    assert PREDICATES["events"].subject[0].name == "events.jsonl"
    for count in (0, statements.MAX_EVENTS + 1):
        with pytest.raises(TrustError) as error:
            statements.events(
                genesis=GENESIS,
                network=NETWORK,
                validator="val-1",
                digests=(f"{number:064x}" for number in range(count)),
                file="events.jsonl",
                digest=NEW,
            )
        assert error.value.code == "bad-statement"


@pytest.mark.parametrize(
    ("library", "key"),
    [("cryptography.exceptions", signer("alice")), ("sr25519", signer("alice", "sr25519"))],
    ids=["ed25519", "sr25519"],
)
def test_a_missing_library_is_named(
    library: str,
    key: Signer,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    signature = key.sign(b"message")
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(TrustError, match="pip install 'tallystick") as error:
        PublicKey(key.public.type, key.public.data).verifies(b"message", signature)
    assert error.value.code == "library-missing"
    if key.public.type == "ed25519":
        (tmp_path / "key.pem").write_text("-----BEGIN PRIVATE KEY-----")
        with pytest.raises(TrustError) as error:
            read_key(tmp_path / "key.pem", lambda: b"")
        assert error.value.code == "library-missing"
