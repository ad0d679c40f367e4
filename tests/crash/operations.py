"""Everything that changes a state or makes a copy of one, each with a state that it starts from."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from attrs import frozen
from state.rounds import SKILLS
from state.signing import ALICE, BOB, written_root
from state.store.test_round_groups import HOTKEYS, PYTHON, of_round
from state.subnet import begun, event, record, written
from state.test_carry_file import carry_of
from state.test_carry_file import lived as carried
from state.trusted import FIRST, authority, rotation, successor, with_peer

from tallystick_state.chain import check
from tallystick_state.ledger import Ledger
from tallystick_state.replay import rebuild
from tallystick_state.store.store import Store
from tallystick_state.store.tables import SNAPSHOTS
from tallystick_state.transfer import export_state, import_state

OLD, NEW = "skills@1.0.0", "skills@1.2.0"
CLOSED = 3
"""Epochs that are closed; the next one is open and has records."""

View = dict[str, Any]


@frozen
class Case:
    """Where a work is done: the store, the folder of what it writes, and that of what it reads."""

    where: str
    outputs: Path
    inputs: Path


@frozen
class Operation:
    """A change of a state, or a copy of one.

    Attributes:
        start: the name of the state that it begins with; None where there is none yet.
        work: what may be killed; gives whatever must not be closed before the kill.
        again: whether it may be done again when it was done.
    """

    start: str | None
    work: Callable[[Case], object]
    again: bool = False


def opened(change: Callable[[Ledger, Case], object]) -> Callable[[Case], object]:
    """A change of a state that is open, and stays so."""

    def work(case: Case) -> object:
        ledger = Ledger.open(case.where)
        return ledger, change(ledger, case)

    return work


def _init(case: Case) -> object:
    return Ledger.create(case.where, OLD)


def _carry(case: Case) -> object:
    return Ledger.create(case.where, NEW, carry=case.inputs / "carry.json")


def _together(ledger: Ledger, case: Case) -> None:
    with ledger.together() as joined:
        joined.import_events(case.inputs / "events.jsonl")
        joined.close_epoch()
        joined.register("hk-9", 9, [PYTHON])


def _round(ledger: Ledger, _: Case) -> object:
    records, group = of_round(100, CLOSED)
    return ledger.close_round([*records, {}], groups=[group], bad="reject")


def _waiting(ledger: Ledger, reason: str) -> int:
    """The number of the first claim that waits for a reason."""
    with ledger.queries() as queries:
        return min(each.seq for each in queries.quarantine() if each.reason == reason)


OPERATIONS = {
    "init": Operation(None, _init),
    "init --carry": Operation(None, _carry),
    "import": Operation(None, lambda c: import_state(c.inputs / "state.jsonl", c.where)),
    "import of a pruned state": Operation(
        None, lambda c: import_state(c.inputs / "pruned.jsonl", c.where)
    ),
    "rebuild": Operation("damaged", lambda c: rebuild(c.where), again=True),
    "register": Operation("lived", opened(lambda ledger, _: ledger.register("new", 9, [PYTHON]))),
    "miners": Operation(
        "lived",
        opened(lambda ledger, c: ledger.sync_miners(c.inputs / "miners.jsonl")),
        again=True,
    ),
    "events import": Operation(
        "lived",
        opened(lambda ledger, c: ledger.import_events(c.inputs / "events.jsonl")),
        again=True,
    ),
    "round close": Operation("lived", opened(_round)),
    "epoch close": Operation(
        "lived", opened(lambda ledger, _: ledger.close_epoch(CLOSED)), again=True
    ),
    "clear": Operation("lived", opened(lambda ledger, _: ledger.clear(HOTKEYS[0]))),
    "accept": Operation(
        "waiting",
        opened(lambda ledger, _: ledger.accept([_waiting(ledger, "unknown-task")])),
    ),
    "drop": Operation(
        "lived", opened(lambda ledger, _: ledger.drop([_waiting(ledger, "conflict")]))
    ),
    "adopt": Operation("lived", opened(lambda ledger, _: ledger.adopt(NEW, CLOSED + 1))),
    "withdraw": Operation("adopted", opened(lambda ledger, _: ledger.withdraw())),
    "epoch close under new rules": Operation(
        "adopted", opened(lambda ledger, _: ledger.close_epoch(CLOSED)), again=True
    ),
    "trust": Operation(
        "trusted",
        opened(
            lambda ledger, c: ledger.rotate_trust(
                next((c.inputs / "next").iterdir()),
                authority=authority(rotation(successor(FIRST), ALICE, BOB)),
            )
        ),
    ),
    "together": Operation("lived", opened(_together)),
    "prune": Operation("lived", opened(lambda ledger, _: ledger.prune(2)), again=True),
    "export": Operation(
        "lived",
        opened(lambda ledger, c: export_state(ledger, c.outputs / "state.jsonl")),
        again=True,
    ),
    "export of a pruned state": Operation(
        "pruned",
        opened(lambda ledger, c: export_state(ledger, c.outputs / "state.jsonl")),
        again=True,
    ),
}


def _lived(where: str, _: Path) -> None:
    """Some epochs with groups, from which the engine flags, claims that wait, and a flag."""
    with begun(where, OLD, HOTKEYS) as ledger:
        for number in range(2 * CLOSED + 1):
            epoch = number // 2
            records, group = of_round(number, epoch)
            ledger.close_round(records, groups=[group])
            said = [
                record(f"c{number}", HOTKEYS[0], round=number, epoch=epoch, consensus=value)
                for value in (0.5, 0.75)
            ]
            ledger.import_events(said, bad="reject")
            if number % 2:
                ledger.close_epoch()


def _trusted(where: str, inputs: Path) -> None:
    with_peer(where, inputs).close()


def _adopted(where: str, inputs: Path) -> None:
    _lived(where, inputs)
    with Ledger.open(where) as ledger:
        ledger.adopt(NEW, CLOSED + 1)


def _waiting_for_a_task(where: str, _: Path) -> None:
    """A flag about a task that nobody has recorded."""
    with begun(where, NEW, HOTKEYS[:1], validator="val-1") as ledger:
        ledger.import_events([event("e", "collusion_flag", "never", HOTKEYS[0])])


def _pruned(where: str, inputs: Path) -> None:
    _lived(where, inputs)
    with Ledger.open(where) as ledger:
        ledger.prune(2)


def _damaged(where: str, inputs: Path) -> None:
    """A store whose events follow from its log no more."""
    _lived(where, inputs)
    with Store.open(where).writing() as transaction:
        transaction.connection.execute("DELETE FROM tallystick_claims WHERE round = 1")


STARTS: dict[str, Callable[[str, Path], None]] = {
    "lived": _lived,
    "adopted": _adopted,
    "pruned": _pruned,
    "waiting": _waiting_for_a_task,
    "trusted": _trusted,
    "damaged": _damaged,
}


def prepare(inputs: Path) -> None:
    """Write what the operations read."""
    lines = [
        record(f"t-{n}", HOTKEYS[n % 5], validator=f"val-{n % 2}", round=90 + n % 3, epoch=CLOSED)
        for n in range(120)
    ]
    flags = [event(f"e-{n}", "rerun_fail", f"t{n}", HOTKEYS[n], round=n) for n in range(5)]
    written(inputs / "events.jsonl", [*lines, *flags])
    slots = [{"uid": n, "hotkey": name, "types": [PYTHON]} for n, name in enumerate(HOTKEYS[2:])]
    written(inputs / "miners.jsonl", [*slots, {"uid": 7, "hotkey": "new", "types": [PYTHON]}])
    (inputs / "next").mkdir()
    written_root(inputs / "next", successor(FIRST))
    for name in ("state", "pruned"):
        where = str(inputs / f"{name}.db")
        STARTS["lived" if name == "state" else name](where, inputs)
        with Ledger.open(where) as ledger:
            export_state(ledger, inputs / f"{name}.jsonl")
    with carried(inputs / "carried.db", SKILLS) as ledger:
        (inputs / "carry.json").write_text(json.dumps(carry_of(ledger)), "utf-8")


def before(case: Case) -> None:
    """Put what the outputs replace in their places."""
    (case.outputs / "state.jsonl").write_bytes(b"what was exported before\n")


def view(case: Case) -> View:
    """All that tells one moment of a state from another, and the files that were made of it."""
    found: View = {"store": standing(case.where)}
    exported = case.outputs / "state.jsonl"
    found["export"] = exported.read_bytes() if exported.exists() else None
    return found


def standing(where: str) -> View | None:
    """Where a state stands, once its chain and its documents are found to be whole; or None."""
    if "://" not in where and not Path(where).exists():
        return None
    store = Store.open(where)
    with store.reading() as transaction:
        transaction.check()
        head, pruned = transaction.head(), transaction.pruned()
        assert head is not None
        after = {} if pruned is None else {"after": (pruned.seq, pruned.hash)}
        entries = [*transaction.entries()]
        if pruned is None:
            assert sum(1 for _ in check(entries, count=head.entries, last=head.hash))
        snapshots = tuple(digest for _, digest, _ in transaction.rows(SNAPSHOTS))
    with Ledger.open(where) as ledger, ledger.queries() as queries:
        return {
            "epoch": head.epoch,
            "entries": (head.entries, head.hash, len(entries)),
            "pruned": after,
            "snapshots": snapshots,
            "digest": queries.digest(),
        }
