"""In a state with a trust root, no function writes what must be signed and is not.

The functions that write are found by inspection, so that a new one has to be listed here.
"""

import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import attrs
import pytest
from state.signing import (
    ALICE,
    BOB,
    CAROL,
    DAVE,
    VAL_1,
    VAL_2,
    Key,
    Said,
    batch,
    digest,
    envelope,
    genesis,
    record_digest,
    root,
    sealed,
    written_root,
)
from state.databases import database, server, where
from state.subnet import event, record, written

import tallystick
from tallystick.errors import DamagedError, StateError, TallystickError, TrustError
from tallystick.state.authority import OPERATOR, Authority
from tallystick.state.chain import chained
from tallystick.state.claims import Rank
from tallystick.state.event import StateEvent
from tallystick.state.event_log import EventLog
from tallystick.state.ledger import Ledger
from tallystick.state.replay import TABLES, verify
from tallystick.state.store.store import Store
from tallystick.state.store.transaction import Transaction
from tallystick.state.transfer import export_state, import_state
from tallystick.trust.envelope import Envelope

__all__ = ["database", "server", "where"]

PYTHON = "executable_python"
OLD, NEW = "skills@1.0.0", "skills@1.1.0"
FIRST = root()
OWN, PEER = "val-1", "val-2"
Asked = Callable[[Ledger, Authority, Path], object]


@attrs.frozen
class Rules:
    """The digests of two rule sets, one after the other."""

    old: str
    new: str

    @property
    def began(self) -> str:
        """What a state is named by that begins under the first, with the root."""
        return genesis({"skills": self.old}, FIRST)


@pytest.fixture(scope="session")
def of_rules() -> Rules:
    return Rules(tallystick.load(OLD).digest, tallystick.load(NEW).digest)


def adoption(rules: Rules, **changes: Any) -> Said:  # noqa: ANN401  # any keys of a predicate
    """What a council signs that adopts the new rules from epoch 3 on."""
    said: Said = {
        "format": 1,
        "action": "adopt",
        "genesis": rules.began,
        "network": FIRST["network"],
        "line": "skills",
        "previous": rules.old,
        "rule_set": rules.new,
        "epoch": 3,
        "sequence": 1,
        "major": False,
    }
    return said | changes


def subject_of(rules: Rules) -> Said:
    return {"name": NEW, "digest": {"sha256": rules.new.removeprefix("sha256:")}}


def signed_adoption(rules: Rules, *signers: Key, **changes: Any) -> bytes:  # noqa: ANN401  # as above
    return envelope("adoption", adoption(rules, **changes), *signers, subject=subject_of(rules))


def rotation(after: Said, *signers: Key) -> bytes:
    """What a council signs that rotates to a root."""
    said = {"format": 1, "version": after["version"], "digest": digest(after)}
    said |= {"previous": after["previous"]} if "previous" in after else {}
    named = {"name": "trust.toml", "digest": {"sha256": digest(after).removeprefix("sha256:")}}
    return envelope("trust", said, *signers, subject=named)


def authority(signed: bytes | None, block: int | None = None) -> Authority:
    return Authority(None if signed is None else Envelope.of_json(signed, "the test"), block)


NEXT = root(2, previous=digest(FIRST), events=["val-2"])
THEIRS = record("t2", validator=PEER)
LATER = record("t3", validator=PEER)


def begun(where: str, folder: Path, said: Said = FIRST) -> Ledger:
    """A state with a root, a miner, a record of its own validator's and a signed one."""
    ledger = Ledger.create(where, OLD, validator=OWN, trust=written_root(folder, said))
    ledger.register("hk-1", 1, [PYTHON])
    ledger.close_round([record("t1", validator=OWN)])
    return ledger


@contextmanager
def with_peer(where: str, folder: Path, rules: Rules) -> Iterator[Ledger]:
    """That state with a signed record of its peer, and an adoption that waits for its epoch."""
    with begun(where, folder) as ledger:
        listed = batch(rules.began, PEER, [record_digest(THEIRS)], VAL_2)
        assert ledger.import_events([THEIRS], authority=authority(listed)).events == 1
        ledger.adopt(NEW, 3, authority=authority(signed_adoption(rules, ALICE, BOB)))
        yield ledger


def rows(ledger: Ledger) -> list[tuple[Any, ...]]:
    """Everything that the store holds."""
    with ledger.store.reading() as transaction:
        return [row for table in TABLES for row in transaction.rows(table)]


# ---------------------------------------------------------------------------- from Python and disk


def _adopt(ledger: Ledger, given: Authority, _: Path) -> object:
    return ledger.adopt("skills@1.2.0", 5, authority=given)


def _withdraw(ledger: Ledger, given: Authority, _: Path) -> object:
    return ledger.withdraw(authority=given)


def _rotate(ledger: Ledger, given: Authority, folder: Path) -> object:
    return ledger.rotate_trust(written_root(folder, NEXT), authority=given)


def _import(ledger: Ledger, given: Authority, folder: Path) -> object:
    return ledger.import_events(written(folder / "later.jsonl", [LATER]), authority=given)


def _import_items(ledger: Ledger, given: Authority, _: Path) -> object:
    return ledger.import_events([LATER, event("e1", "collusion_flag", "t2")], authority=given)


def _close_round(ledger: Ledger, given: Authority, _: Path) -> object:
    _, found = ledger.close_round([LATER], authority=given)
    if not found.events:
        (told,) = found.told
        raise TrustError(told.code, code=told.code)
    return found


SIGNED: Mapping[str, tuple[Asked, ...]] = {
    "adopt": (_adopt,),
    "withdraw": (_withdraw,),
    "rotate_trust": (_rotate,),
    "import_events": (_import, _import_items),
    "close_round": (_close_round,),
}
"""The methods of a ledger that write what must be signed."""
OPERATORS = {"register", "sync_miners", "clear", "accept", "drop", "close_epoch", "select_group"}
"""Those that write what the operator alone decides, of the subnet or of what waits."""
BEGINNING = {"create"}
READING = {"open", "open_epoch", "queries", "scoring", "scorer", "close", "rules", "in_force"}
READING |= {"hearing"}


def public(of: type) -> set[str]:
    return {name for name, _ in inspect.getmembers(of) if not name.startswith("_")}


def test_every_method_of_a_ledger_is_listed() -> None:
    assert public(Ledger) - READING == {*SIGNED} | OPERATORS | BEGINNING
    for name in SIGNED:
        assert "authority" in inspect.signature(getattr(Ledger, name)).parameters


def forgeries(rules: Rules) -> dict[str, tuple[Authority, str]]:
    """What somebody may come with who has no right to, and the code of the refusal."""
    stranger = Key("mallory")
    good = signed_adoption(rules, ALICE, BOB)
    payload = Envelope.of_json(good, "the test").payload
    return {
        "nothing": (OPERATOR, "unsigned"),
        "a block alone": (Authority(block=7), "unsigned"),
        "a statement of something else": (authority(good), "other"),
        "strangers": (authority(sealed(payload, stranger)), "other"),
        "nobody": (
            authority(sealed(payload, ALICE).replace(ALICE.keyid.encode(), b"0" * 64)),
            "other",
        ),
    }


def test_what_must_be_signed_is_refused_unless_it_is(
    where: str, tmp_path: Path, of_rules: Rules
) -> None:
    with with_peer(where, tmp_path, of_rules) as ledger:
        before = rows(ledger)
        for asked in [each for several in SIGNED.values() for each in several]:
            for name, (given, code) in forgeries(of_rules).items():
                with pytest.raises(TrustError) as caught:
                    asked(ledger, given, tmp_path)
                assert code in caught.value.code, (asked, name)
                assert rows(ledger) == before, (asked, name)
        assert verify(ledger).entries
