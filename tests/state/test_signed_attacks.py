"""The attacks on signatures by their names, against a state: each refused by its code."""

import json
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from cli.command import run
from state.chronicle import digest_of
from state.resealed import reseal
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
    late_digest,
    record_digest,
    root,
    written_root,
)
from state.subnet import event, record, written
from state.trusted import (
    FIRST,
    LATER,
    NEW,
    OLD,
    OWN,
    PEER,
    PYTHON,
    THEIRS,
    authority,
    began,
    begun,
    rotation,
    rows,
    signed_adoption,
    successor,
    with_peer,
)

from tallystick.errors import DamagedError, StateError, StoreError, TrustError
from tallystick_state.ledger import Ledger
from tallystick_state.replay import verify
from tallystick_state.transfer import export_state, import_state


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of a state with a trust file."""
    folder = tmp_path_factory.mktemp("state")
    begun(folder / "state.db", folder)
    return folder / "state.db"


@pytest.fixture
def ledger(state: Path, tmp_path: Path) -> Ledger:
    """A ledger of a copy."""
    for each in state.parent.glob("state.db*"):
        shutil.copy(each, tmp_path / each.name)
    return Ledger.open(tmp_path / "state.db")


def refusal(ask: Callable[[], object]) -> str:
    """The code by which something is refused."""
    with pytest.raises((TrustError, StateError)) as caught:
        ask()
    return str(caught.value.code)


def adopting(ledger: Ledger, signed: bytes | None, block: int | None = None) -> str:
    """The code by which an adoption from epoch 3 on is refused; nothing may have changed."""
    before = rows(ledger)
    code = refusal(lambda: ledger.adopt(NEW, 3, authority=authority(signed, block)))
    assert rows(ledger) == before
    return code


# ----------------------------------------------------------------------------- mix and match

ZERO = "sha256:" + "0" * 64
MIXED: dict[str, tuple[Said, str]] = {
    "of another state": ({"genesis": ZERO}, "other-genesis"),
    "of a state without a trust file": ({"genesis": began(root(7))}, "other-genesis"),
    "of another network": ({"network": "subnet-other"}, "other-network"),
    "of another line": ({"line": "workflow"}, "other-line"),
    "after other rules": ({"previous": ZERO}, "other-previous"),
    "of other rules": ({"rule_set": ZERO}, "other-rules"),
    "of another epoch": ({"epoch": 4}, "other-epoch"),
    "of another number": ({"sequence": 2}, "other-sequence"),
    "of a major change": ({"major": True}, "other-action"),
    "of a withdrawal": ({"action": "withdraw"}, "other-action"),
}


@pytest.mark.parametrize("case", MIXED)
def test_what_was_signed_for_something_else_is_refused(ledger: Ledger, case: str) -> None:
    changes, code = MIXED[case]
    assert adopting(ledger, signed_adoption(ALICE, BOB, **changes)) == code


# ------------------------------------------------------------------------- rollback and replay


def test_an_adoption_that_was_withdrawn_is_not_sent_again(ledger: Ledger) -> None:
    first = signed_adoption(ALICE, BOB)
    ledger.adopt(NEW, 3, authority=authority(first))
    assert refusal(lambda: ledger.withdraw(authority=authority(first))) == "other-action"
    taken_back = signed_adoption(BOB, CAROL, action="withdraw", sequence=2)
    assert ledger.withdraw(authority=authority(taken_back)).epoch == 3
    assert adopting(ledger, first) == "other-sequence"
    third = signed_adoption(ALICE, CAROL, sequence=3)
    assert ledger.adopt(NEW, 3, authority=authority(third)).sequence == 3
    assert refusal(lambda: ledger.withdraw(authority=authority(taken_back))) == "other-sequence"
    assert verify(ledger).entries


def rotating(
    ledger: Ledger, folder: Path, after: Said, *signers: Key, block: int | None = None
) -> str:
    """The code by which a rotation is refused."""
    before, path = rows(ledger), written_root(folder, after)
    given = authority(rotation(after, *signers) if signers else None, block)
    code = refusal(lambda: ledger.rotate_trust(path, authority=given))
    assert rows(ledger) == before
    return code


def test_a_rotation_is_signed_by_the_old_and_the_new(ledger: Ledger, tmp_path: Path) -> None:
    groups = {"council": {"keys": ["carol", "dave"], "threshold": 2}}
    after = successor(FIRST, groups=groups)
    assert rotating(ledger, tmp_path, after) == "unsigned"
    assert rotating(ledger, tmp_path, after, ALICE, BOB) == "threshold-not-met"
    assert rotating(ledger, tmp_path, after, CAROL, DAVE) == "threshold-not-met"
    signed = rotation(after, BOB, CAROL, DAVE)
    ledger.rotate_trust(written_root(tmp_path, after), authority=authority(signed))
    # it holds at once, and the keys of before do not
    assert adopting(ledger, signed_adoption(ALICE, BOB)) == "threshold-not-met"
    assert ledger.adopt(NEW, 3, authority=authority(signed_adoption(CAROL, DAVE))).statement
    assert verify(ledger).entries


def test_a_trust_file_never_goes_back(ledger: Ledger, tmp_path: Path) -> None:
    second = successor(FIRST, events=[PEER])
    signed = authority(rotation(second, ALICE, BOB))
    ledger.rotate_trust(written_root(tmp_path, second), authority=signed)
    council = (ALICE, BOB)
    assert rotating(ledger, tmp_path, second, *council) == "circular-rotation"
    assert rotating(ledger, tmp_path, FIRST, *council) == "circular-rotation"
    assert rotating(ledger, tmp_path, successor(second, 2), *council) == "rollback"
    assert rotating(ledger, tmp_path, successor(FIRST, 3), *council) == "other-previous"
    elsewhere = successor(second, 3, network="subnet-other")
    assert rotating(ledger, tmp_path, elsewhere, *council) == "other-network"


# ------------------------------------------------------------------------------ freeze: blocks


def test_an_expired_trust_file_allows_its_successor_alone(tmp_path: Path) -> None:
    said = root(expires_at_block=100)
    with begun(tmp_path / "state.db", tmp_path, said) as ledger:
        signed = signed_adoption(ALICE, BOB, genesis=began(said))
        assert adopting(ledger, signed) == "block-needed"
        assert adopting(ledger, signed, 100) == "expired-root"
        listed = authority(batch(began(said), PEER, [record_digest(THEIRS)], VAL_2), 100)
        before = rows(ledger)
        assert refusal(lambda: ledger.import_events([THEIRS], authority=listed)) == "expired-root"
        assert rows(ledger) == before
        after = successor(said, expires_at_block=100)
        assert rotating(ledger, tmp_path, after, ALICE, BOB, block=100) == "expired-root"
        after = successor(said, expires_at_block=200)
        given = authority(rotation(after, ALICE, BOB), 100)
        ledger.rotate_trust(written_root(tmp_path, after), authority=given)
        assert adopting(ledger, signed, 99) == "block-went-back"
        assert ledger.adopt(NEW, 3, authority=authority(signed, 100)).block == 100
        assert verify(ledger).entries


# ------------------------------------------------------------------------------------- batches


def importing(ledger: Ledger, records: list[Said], signed: bytes | None) -> str:
    """The code by which a file is refused whole."""
    before = rows(ledger)
    code = refusal(lambda: ledger.import_events(records, authority=authority(signed)))
    assert rows(ledger) == before
    return code


def test_a_batch_is_signed_by_its_validator(ledger: Ledger) -> None:
    listed = [record_digest(THEIRS)]
    for signers in ([VAL_1], [ALICE, BOB], [Key(PEER)]):
        signed = batch(began(), PEER, listed, *signers)
        assert importing(ledger, [THEIRS], signed) == "threshold-not-met"
    assert importing(ledger, [THEIRS], batch(ZERO, PEER, listed, VAL_2)) == "other-genesis"
    elsewhere = batch(began(), PEER, listed, VAL_2, network="subnet-other")
    assert importing(ledger, [THEIRS], elsewhere) == "other-network"
    unheard = batch(began(), "val-9", listed, VAL_2)
    assert importing(ledger, [THEIRS], unheard) == "unheard-validator"
    assert importing(ledger, [THEIRS], None) == "unsigned"


def test_a_line_that_is_not_in_the_batch_is_told_and_the_rest_recorded(ledger: Ledger) -> None:
    late = event("e1", "collusion_flag", "t2", validator=PEER)
    changed = record("t2", validator=PEER, consensus=0.0)
    of_own = record("t9", validator=OWN)
    listed = [record_digest(THEIRS), late_digest(late), record_digest(of_own)]
    signed = authority(batch(began(), PEER, listed, VAL_2))
    found = ledger.import_events([THEIRS, changed, LATER, late, of_own], authority=signed)
    assert (found.events, found.refused) == (2, {"not-in-batch": 3})
    assert [each.line for each in found.told] == [2, 3, 5]
    # the same once more is known, and writes nothing
    before = rows(ledger)
    assert ledger.import_events([THEIRS, late], authority=signed).duplicates == 2
    assert rows(ledger) == before
    assert verify(ledger).entries


def test_a_round_takes_what_others_have_signed_and_its_own_without(ledger: Ledger) -> None:
    own = record("t4", validator=OWN, round=1)
    signed = authority(batch(began(), PEER, [record_digest(THEIRS)], VAL_2))
    rounds, found = ledger.close_round([THEIRS, own, LATER], authority=signed)
    assert [each.round for each in rounds] == [1]
    assert (found.events, found.refused) == (2, {"not-in-batch": 1})
    with ledger.store.reading() as transaction:
        kinds = [each.kind for each in transaction.entries()][-4:]
    assert kinds == ["own", "batch", "signed", "round"]
    assert verify(ledger).entries


def test_after_a_rotation_its_validators_are_heard(ledger: Ledger, tmp_path: Path) -> None:
    after = successor(FIRST, events=[])
    given = authority(rotation(after, ALICE, BOB))
    ledger.rotate_trust(written_root(tmp_path, after), authority=given)
    signed = batch(began(), PEER, [record_digest(THEIRS)], VAL_2)
    assert importing(ledger, [THEIRS], signed) == "unheard-validator"
    assert ledger.close_round([THEIRS])[1].refused == {"unheard-validator": 1}
    assert ledger.close_round([record("t5", validator=OWN)])[1].events == 1


def test_what_is_signed_displaces_what_was_imported_before(tmp_path: Path) -> None:
    """A state that gets its first trust file by its operator goes on with what it has."""
    forged = record("t2", validator=PEER, consensus=0.0)
    with Ledger.create(tmp_path / "state.db", OLD, validator=OWN) as ledger:
        ledger.register("hk-1", 1, [PYTHON])
        ledger.import_events([forged])
        genesis = ledger.in_force.genesis
        signed = batch(genesis, PEER, [record_digest(THEIRS)], VAL_2)
        assert importing(ledger, [THEIRS], signed) == "no-root"
        path = written_root(tmp_path, FIRST)
        ask = authority(rotation(FIRST, ALICE, BOB))
        assert refusal(lambda: ledger.rotate_trust(path, authority=ask)) == "no-root"
        ledger.rotate_trust(path)
        assert ledger.in_force.genesis == genesis
        found = ledger.import_events([THEIRS], authority=authority(signed))
        assert (found.events, found.displaced) == (1, 1)
        assert verify(ledger).entries


# ----------------------------------------------------------------------- stores and files of it


def test_a_signed_state_moves_byte_for_byte_between_databases(where: str, tmp_path: Path) -> None:
    with with_peer(where, tmp_path) as ledger:
        after = successor(FIRST, events=[PEER])
        given = authority(rotation(after, ALICE, BOB), 7)
        ledger.rotate_trust(written_root(tmp_path, after), authority=given)
        ledger.close_epoch()
        assert verify(ledger).entries
        export_state(ledger, tmp_path / "a.jsonl")
        expected = digest_of(ledger)
    import_state(tmp_path / "a.jsonl", tmp_path / "b.db", trust=written_root(tmp_path, FIRST))
    with Ledger.open(tmp_path / "b.db") as again:
        assert digest_of(again) == expected
        export_state(again, tmp_path / "b.jsonl")
        assert verify(again).entries
    assert (tmp_path / "b.jsonl").read_bytes() == (tmp_path / "a.jsonl").read_bytes()
    header, *lines = map(json.loads, (tmp_path / "a.jsonl").read_text().splitlines())
    assert header["tallystick_state"] == 9
    assert sum(each.get("table") == "tallystick_envelopes" for each in lines) == 3
    with pytest.raises(TrustError) as caught:
        import_state(tmp_path / "a.jsonl", tmp_path / "c.db", trust=written_root(tmp_path, after))
    assert caught.value.code == "other-root"
    with pytest.raises(StoreError, match="found no store"):
        Ledger.open(tmp_path / "c.db")


def test_peers_with_other_signatures_of_one_vote_have_one_digest(tmp_path: Path) -> None:
    digests = set()
    for name, signers in (("a", (ALICE, BOB)), ("b", (BOB, CAROL))):
        with begun(tmp_path / f"{name}.db", tmp_path) as ledger:
            ledger.adopt(NEW, 1, authority=authority(signed_adoption(*signers, epoch=1)))
            ledger.close_epoch()
            with ledger.queries() as queries:
                digests.add((queries.digest(), queries.info().hash))
    assert len(digests) == 1


CHANGES: dict[str, Callable[[list[str]], list[str]]] = {
    "an envelope is left out": lambda lines: [lines[0], *lines[2:]],
    "an envelope comes twice": lambda lines: [*lines[:2], *lines[1:]],
    "an envelope that nothing names": lambda lines: [
        *lines[:1],
        '{"row":["sha256:0","{}"],"table":"tallystick_envelopes"}\n',
        *lines[1:],
    ],
    "a signature is another": lambda lines: [
        x.replace('\\"sig\\":\\"', '\\"sig\\":\\"AAAA', 1) for x in lines
    ],
    "an envelope comes late": lambda lines: [lines[0], *lines[2:], lines[1]],
}


@pytest.mark.parametrize("case", CHANGES)
def test_an_export_without_its_signatures_makes_no_state(tmp_path: Path, case: str) -> None:
    with with_peer(tmp_path / "state.db", tmp_path) as ledger:
        export_state(ledger, tmp_path / "a.jsonl")
    lines = (tmp_path / "a.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "b.jsonl").write_text("".join(CHANGES[case](lines)))
    found = run("state", "import", tmp_path / "b.jsonl", "--state", tmp_path / "b.db")
    assert found.status in {1, 2}
    assert str(tmp_path / "b.jsonl") in found.err
    assert run("state", "info", "--state", tmp_path / "b.db").status == 2


def test_an_envelope_that_was_changed_in_a_store_is_found(tmp_path: Path) -> None:
    with with_peer(tmp_path / "state.db", tmp_path) as ledger:
        assert verify(ledger).entries
    put = "UPDATE tallystick_envelopes SET envelope ="
    changes: tuple[tuple[str, tuple[str, ...]], ...] = (
        ("DELETE FROM tallystick_envelopes", ()),
        (f"{put} replace(envelope, ?, ?)", ('"sig":"', '"sig":"AAAA')),
        (f"{put} envelope || ' '", ()),
        (f"{put} '{{'", ()),
    )
    for number, (statement, values) in enumerate(changes):
        copy = tmp_path / f"{number}.db"
        with closing(sqlite3.connect(tmp_path / "state.db")) as connection:
            connection.execute("VACUUM INTO ?", (str(copy),))
        with closing(sqlite3.connect(copy)) as connection, connection:
            connection.execute(statement, values)
        reseal(copy)
        with pytest.raises(DamagedError):
            Ledger.open(copy)
        assert run("state", "verify", "--state", copy).status == 1


# --------------------------------------------------------------------------------- by command


def test_the_same_by_command(tmp_path: Path) -> None:
    trust, place = written_root(tmp_path, FIRST), tmp_path / "state.db"
    wrong = ("state", "init", "--rules", OLD, "--hear", PEER, "--trust", trust, "--state", place)
    assert run(*wrong).status == 2
    begin = ("state", "init", "--rules", OLD, "--validator", OWN, "--trust", trust)
    shown: dict[str, Any] = run(*begin, "--state", place, "--json").json()
    assert (shown["hears"], shown["trust_digest"]) == (["val-1", "val-2"], digest(FIRST))
    on = ("--state", place)
    run("miner", "register", "hk-1", "--uid", "1", "--types", PYTHON, *on)
    records = written(tmp_path / "r.jsonl", [THEIRS])
    unsigned = run("events", "import", records, *on)
    assert (unsigned.status, "unsigned" in unsigned.err) == (1, False)
    signed = tmp_path / "batch.json"
    signed.write_bytes(batch(began(), PEER, [record_digest(THEIRS)], VAL_2))
    assert run("events", "import", records, "--signed", signed, *on).status == 0
    after = successor(FIRST)
    turn, path = tmp_path / "turn.json", written_root(tmp_path, after)
    turn.write_bytes(rotation(after, ALICE, BOB))
    rotated = run("trust", "rotate", path, "--signed", turn, "--block", "7", *on, "--json")
    assert rotated.json()["version"] == 2
    assert run("state", "info", *on, "--json").json()["trust_version"] == 2
    assert run("state", "verify", *on).status == 0
