"""States with a trust file, and what is signed for them."""

from functools import cache
from pathlib import Path
from typing import Any

import attrs
import rfc8785
from state.signing import (
    ALICE,
    BOB,
    VAL_2,
    Key,
    Said,
    batch,
    digest,
    envelope,
    genesis,
    record_digest,
    root,
    written_root,
)
from state.subnet import record

import tallystick
from tallystick_state.authority import Authority
from tallystick_state.chain import Entry, chained
from tallystick_state.ledger import Ledger
from tallystick_state.replay import TABLES
from tallystick_state.trust.envelope import Envelope

PYTHON = "executable_python"
OLD, NEW, NEWER = "skills@1.0.0", "skills@1.1.0", "skills@1.2.0"
OWN, PEER = "val-1", "val-2"
FIRST = root()
"""The trust file that a state begins with."""
THEIRS, LATER = record("t2", validator=PEER), record("t3", validator=PEER)
"""Records of the peer."""


@cache
def of(reference: str) -> str:
    """The digest of a rule set."""
    return tallystick.load(reference).digest


def began(trust: Said | None = None) -> str:
    """What a state is named by that begins under the old rules with a trust file."""
    return genesis({"skills": of(OLD)}, trust or FIRST)


def adoption(**changes: Any) -> Said:  # noqa: ANN401  # any keys of a predicate
    """What a council signs that adopts the new rules from epoch 3 on."""
    said: Said = {
        "format": 1,
        "action": "adopt",
        "genesis": began(),
        "network": FIRST["network"],
        "line": "skills",
        "previous": of(OLD),
        "rule_set": of(NEW),
        "epoch": 3,
        "sequence": 1,
        "major": False,
    }
    return said | changes


def signed_adoption(*signers: Key, **changes: Any) -> bytes:  # noqa: ANN401  # as above
    """That, signed."""
    said = adoption(**changes)
    named = {"name": NEW, "digest": {"sha256": said["rule_set"].removeprefix("sha256:")}}
    return envelope("adoption", said, *signers, subject=named)


def rotation(after: Said, *signers: Key) -> bytes:
    """What a council signs that rotates to a trust file."""
    said = {"format": 1, "version": after["version"], "digest": digest(after)}
    said |= {"previous": after["previous"]} if "previous" in after else {}
    named = {"name": "trust.toml", "digest": {"sha256": digest(after).removeprefix("sha256:")}}
    return envelope("trust", said, *signers, subject=named)


def successor(of_root: Said, version: int = 2, **changes: Any) -> Said:  # noqa: ANN401  # as above
    """A trust file that can follow another."""
    return {**of_root, "version": version, "previous": digest(of_root), **changes}


def authority(signed: bytes | None, block: int | None = None) -> Authority:
    """What stands behind a change."""
    return Authority(None if signed is None else Envelope.of_json(signed, "the test"), block)


def begun(where: str | Path, folder: Path, said: Said | None = None) -> Ledger:
    """A state with a trust file, a miner, and a record of its own validator's."""
    path = written_root(folder, said or FIRST)
    ledger = Ledger.create(where, OLD, validator=OWN, trust=path)
    ledger.register("hk-1", 1, [PYTHON])
    ledger.close_round([record("t1", validator=OWN)])
    return ledger


def with_peer(where: str | Path, folder: Path) -> Ledger:
    """That state with a signed record of its peer, and an adoption that waits for its epoch."""
    ledger = begun(where, folder)
    listed = batch(began(), PEER, [record_digest(THEIRS)], VAL_2)
    assert ledger.import_events([THEIRS], authority=authority(listed)).events == 1
    ledger.adopt(NEW, 3, authority=authority(signed_adoption(ALICE, BOB)))
    return ledger


def forge(ledger: Ledger, kind: str, body: Said) -> Entry:
    """Write an entry into the store itself, chained to the one before."""
    with ledger.store.writing() as transaction:
        head = transaction.head()
        assert head is not None
        entry = chained(head.hash, head.entries + 1, kind, rfc8785.dumps(body).decode())
        transaction.append([entry])
        transaction.put_head(attrs.evolve(head, entries=entry.seq, hash=entry.hash))
    return entry


def rows(ledger: Ledger) -> list[tuple[Any, ...]]:
    """Everything that the store holds."""
    with ledger.store.reading() as transaction:
        return [row for table in TABLES for row in transaction.rows(table)]
