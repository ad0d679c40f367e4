"""In a state with a trust file, no function writes what must be signed and is not.

The functions that write are found by inspection, so that a new one has to be listed here.
"""

import inspect
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from examples import fast_rows
from msgspec.structs import replace
from state.signing import (
    ALICE,
    BOB,
    VAL_2,
    Key,
    batch,
    digest,
    record_digest,
    sealed,
    toml,
    written_root,
)
from state.subnet import event
from state.trusted import (
    FIRST,
    LATER,
    NEWER,
    PEER,
    THEIRS,
    adoption,
    authority,
    began,
    forge,
    of,
    rows,
    signed_adoption,
    successor,
    with_peer,
)

from tallystick import load
from tallystick.errors import DamagedError, TallystickError, TrustError
from tallystick_state.authority import OPERATOR, Authority
from tallystick_state.claims import Claim, Rank
from tallystick_state.entries import KINDS, Adopt, Rotate, Share, Withdraw
from tallystick_state.event import StateEvent
from tallystick_state.event_log import EventLog, Stating, TakeBatch
from tallystick_state.ledger import Ledger
from tallystick_state.replay import verify
from tallystick_state.transfer import export_state, import_state
from tallystick_state.trust.envelope import Envelope

Asked = Callable[[Ledger, Authority, Path], object]
NEXT = successor(FIRST, events=[PEER])


def public(of_class: type) -> set[str]:
    return {name for name, _ in inspect.getmembers(of_class) if not name.startswith("_")}


# ------------------------------------------------------------------------------------- a ledger


def _adopt(ledger: Ledger, given: Authority, _: Path) -> object:
    return ledger.adopt(NEWER, 5, authority=given)


def _withdraw(ledger: Ledger, given: Authority, _: Path) -> object:
    return ledger.withdraw(authority=given)


def _rotate(ledger: Ledger, given: Authority, folder: Path) -> object:
    return ledger.rotate_trust(written_root(folder, NEXT), authority=given)


def _import(ledger: Ledger, given: Authority, _: Path) -> object:
    return ledger.import_events([LATER, event("e1", "collusion_flag", "t2")], authority=given)


def _close_round(ledger: Ledger, given: Authority, _: Path) -> object:
    found = ledger.close_round([LATER], authority=given)[1]
    (told,) = found.told
    raise TrustError(str(told), code=told.code)


SIGNED: Mapping[str, Asked] = {
    "adopt": _adopt,
    "withdraw": _withdraw,
    "rotate_trust": _rotate,
    "import_events": _import,
    "close_round": _close_round,
}
"""The methods of a ledger that write what must be signed."""
OF_LINES = {"share"}
"""Those that are signed too, in a state of several lines: `test_pools` comes with the same."""
OPERATORS = {"register", "sync_miners", "clear", "accept", "drop", "close_epoch", "select_group"}
OPERATORS |= {"prune"}
"""Those that write what the operator alone decides, of the subnet or of what waits."""
BEGINNING = {"create"}
READING = {
    *("open", "read", "open_epoch", "queries", "scoring", "scorer", "close", "rules", "in_force"),
    *("allowed", "verify", "export", "plugins", "in_force_of"),
    # a ledger again, whose changes are one transaction
    "together",
}
OF_LEAVES = {"checkpoint", "epoch_log"}
"""Those that keep what follows from the log, which `verify` computes again."""


def test_every_method_of_a_ledger_is_listed() -> None:
    assert public(Ledger) - READING - OF_LEAVES == {*SIGNED} | OF_LINES | OPERATORS | BEGINNING
    for name in {*SIGNED} | OF_LINES:
        assert "authority" in inspect.signature(getattr(Ledger, name)).parameters


def forgeries() -> dict[str, tuple[Authority, str]]:
    """What somebody may come with who has no right to, and what the code of the refusal has."""
    payload = Envelope.of_json(signed_adoption(ALICE), "the test").payload
    return {
        "nothing": (OPERATOR, "unsigned"),
        "a block alone": (Authority(block=7), "unsigned"),
        "a statement of something else": (authority(signed_adoption(ALICE, BOB)), "other-"),
        "strangers": (authority(sealed(payload, Key("mallory"))), "other-"),
        "another payload": (authority(sealed(b"{}", ALICE, BOB)), "bad-statement"),
        "another type": (
            authority(sealed(payload, ALICE, BOB, payload_type="text/plain")),
            "other-payload-type",
        ),
    }


def test_what_must_be_signed_is_refused_unless_it_is(where: str, tmp_path: Path) -> None:
    with with_peer(where, tmp_path) as ledger:
        before = rows(ledger)
        for asked in SIGNED.values():
            for name, (given, code) in forgeries().items():
                with pytest.raises(TrustError) as caught:
                    asked(ledger, given, tmp_path)
                assert code in caught.value.code, (asked, name)
                assert rows(ledger) == before, (asked, name)
        assert verify(ledger).entries


# --------------------------------------------------------------------------------- below a ledger

SIGNED_ENTRIES = {Adopt, Rotate, Share, TakeBatch, Withdraw}


def test_every_entry_that_must_be_signed_is_listed() -> None:
    assert {body for body in KINDS.values() if issubclass(body, Stating)} == SIGNED_ENTRIES


def test_the_log_itself_takes_no_claim_that_nobody_signed(tmp_path: Path) -> None:
    with with_peer(tmp_path / "state.db", tmp_path) as ledger:
        before = rows(ledger)
        with ledger.store.reading() as transaction:
            theirs = next(e for e in transaction.events(0) if e.validator == PEER)
        new = replace(theirs, task_id="t9")
        with ledger.store.writing() as transaction:
            log = EventLog(transaction, ledger.in_force)
            for rank in Rank:
                with pytest.raises(TrustError, match="expected"):
                    log.record([new], rank)
            listed = batch(began(), PEER, [record_digest(THEIRS)], VAL_2)
            assert log.begin_batch(authority(listed)).validator == PEER
            with pytest.raises(TrustError) as caught:
                log.record([replace(new, record="sha256:" + "0" * 64)], Rank.SIGNED)
            assert caught.value.code == "not-in-batch"
            log.finish()
        assert rows(ledger) == before


def _rules_entry(**changes: Any) -> dict[str, Any]:  # noqa: ANN401  # any keys of a body
    with_text = {"digest": of(NEWER), "reference": NEWER, "text": load(NEWER).loaded.text}
    said = {"epoch": 5, "line": "skills", "previous": adoption()["rule_set"], "sequence": 2}
    return said | {"rule_set": with_text} | changes


def _claim(ledger: Ledger, **changes: Any) -> dict[str, Any]:  # noqa: ANN401  # of an event
    with ledger.store.reading() as transaction:
        theirs = next(e for e in transaction.events(0) if e.validator == PEER)
    found: dict[str, Any] = json.loads(replace(theirs, **changes).to_line())
    return found


FORGED: dict[str, Callable[[Ledger], tuple[str, dict[str, Any]]]] = {
    "an adoption": lambda _: ("rules", _rules_entry()),
    "an adoption by a statement that is not there": lambda _: (
        "rules",
        _rules_entry(statement="sha256:" + "0" * 64),
    ),
    "a withdrawal": lambda _: (
        "withdraw",
        {"epoch": 3, "line": "skills", "rule_set": adoption()["rule_set"], "sequence": 2},
    ),
    "a trust file": lambda _: (
        "trust",
        {"digest": digest(NEXT), "text": toml(NEXT), "version": 2},
    ),
    "a batch": lambda _: ("batch", {"events": 1, "validator": PEER}),
    "an imported claim": lambda ledger: ("signal", _claim(ledger, task_id="t9")),
    "a claim of no batch": lambda ledger: (
        "signed",
        _claim(ledger, task_id="t9", record="sha256:" + "1" * 64),
    ),
    "an own claim of another": lambda ledger: ("own", _claim(ledger, task_id="t9")),
}
OPENED = ("an adoption", "a withdrawal", "a trust file")


@pytest.mark.parametrize("case", fast_rows(FORGED, 0, -1))
def test_a_store_that_was_written_itself_is_found(tmp_path: Path, case: str) -> None:
    """Its log is chained anew, and its events are put where they belong."""
    place = tmp_path / "state.db"
    with with_peer(place, tmp_path) as ledger:
        kind, body = FORGED[case](ledger)
        entry = forge(ledger, kind, body)
        if "task_id" in body:
            claim = StateEvent.from_line(entry.body)
            with ledger.store.writing() as transaction:
                transaction.claims.put([Claim(entry.seq, claim, Rank.OWN, counted_in=0)])
        if case.startswith(OPENED):
            with pytest.raises(DamagedError):
                Ledger.open(place)
            with pytest.raises(DamagedError):
                ledger.open_epoch()
        else:
            with pytest.raises(TallystickError), Ledger.open(place) as forged:
                verify(forged)
        with pytest.raises(TallystickError):
            _copy(_before(ledger), tmp_path)
    with pytest.raises(TallystickError):
        Ledger.open(tmp_path / "copy.db")


def _copy(ledger: Ledger, folder: Path) -> None:
    export_state(ledger, folder / "forged.jsonl")
    import_state(folder / "forged.jsonl", folder / "copy.db")


def _before(ledger: Ledger) -> Ledger:
    """The ledger of who does not look."""
    return Ledger(ledger.store, ledger._known)  # as a forger has it
