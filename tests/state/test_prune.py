"""Pruning: what is removed is missed by nobody, and what is closed stays provable."""

import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from cli.command import run
from examples import fast_rows
from state.chronicle import digest_of
from state.resealed import reseal
from state.rounds import MINERS, PYTHON, SKILLS, skills_of, tasks_of
from state.subnet import Record, begun, event, task
from state.variants import put, variant

from tallystick.errors import DamagedError, InputError, StateError, TallystickError
from tallystick_state.checkpoints import checkpoint, row_proof
from tallystick_state.ledger import Ledger
from tallystick_state.model import unstructure
from tallystick_state.replay import verify
from tallystick_state.transfer import export_state, import_state

CLOSED, BEFORE = 6, 4
"""Epochs that are closed, and the first one that stays whole."""
ROUNDS = 2
"""Rounds of an epoch."""


def window_of(folder: Path, last: int | None = 3) -> str:
    """Workflow rules with a shorter window."""
    change = put(last, "allocation", "steps", 0, "last")
    if last is None:

        def change(document: Any) -> None:  # noqa: ANN401  # a table of any keys
            del document["allocation"]["steps"][0]["last"]

    return str(variant(folder, "workflow@1.2.0", "1.2.9", change))


Made = Callable[[int, int], list[Record]]


def rules_of(folder: Path, kind: str) -> tuple[str, str, Made]:
    if kind == "skills":
        return SKILLS, PYTHON, skills_of
    return window_of(folder), "workflow", tasks_of


def lived(place: Path | str, folder: Path, kind: str, closed: int = CLOSED) -> Ledger:
    """A state of several closed epochs and an open one."""
    rules, skill_type, made = rules_of(folder, kind)
    ledger = begun(place, rules, MINERS, [skill_type], validator="val-1")
    number = count()
    for epoch in range(closed + 1):
        for _ in range(ROUNDS):
            ledger.close_round(made(next(number), epoch))
        if kind == "skills" and epoch == 1:
            # its task is said by nobody, so that it waits for ever
            ledger.import_events([event("e-1", "rerun_fail", "t-x", "hk-1", epoch=epoch)])
        if epoch < closed:
            ledger.close_epoch()
    return ledger


def shown(ledger: Ledger) -> dict[str, Any]:
    with ledger.queries() as queries:
        return {
            "digest": queries.digest(),
            "rules": queries.rules_digest(),
            "state": unstructure(queries.state),
            "weights": queries.weights(),
            "epochs": queries.epochs(),
            "root": checkpoint(ledger, "test").root,
            "quarantine": [
                (c.event.task_id, c.reason) for c in queries.transaction.claims.waiting()
            ],
        }


def later(kind: str, made: Made) -> Iterator[Callable[[Ledger], object]]:
    """What may come after a pruning: late, again, otherwise than before, and new."""
    first = CLOSED * ROUNDS + ROUNDS
    yield lambda ledger: ledger.import_events(made(0, 0))
    yield lambda ledger: ledger.import_events(made(1, 0), bad="reject")
    yield lambda ledger: ledger.close_round(made(first, CLOSED))
    changed = made(1, 0)
    for each in changed:
        if kind == "skills" and "submission" in each:
            each["submission"]["latency_ms"] = 77_000
        elif kind == "workflow":
            each["checks"]["output_quality"] = 0.01
    yield lambda ledger: ledger.import_events(changed)
    if kind == "skills":
        late = [event(f"late-{n}", "rerun_fail", f"t1-{n}", f"hk-{n}", round=1) for n in (1, 3, 4)]
        yield lambda ledger: ledger.import_events(late)
    fresh = [
        each | {"task_id": f"new-{n}", "validator": "val-2"} for n, each in enumerate(made(2, 1))
    ]
    yield lambda ledger: ledger.import_events(fresh)
    yield lambda ledger: ledger.close_epoch()
    yield lambda ledger: ledger.close_round(made(first + 1, CLOSED + 1))
    yield lambda ledger: ledger.import_events(fresh)
    yield lambda ledger: ledger.close_epoch()
    yield lambda ledger: ledger.close_epoch()


@pytest.mark.parametrize("kind", [pytest.param("skills", marks=pytest.mark.nightly), "workflow"])
def test_a_pruned_state_goes_on_as_one_that_was_not(tmp_path: Path, where: str, kind: str) -> None:
    whole = lived(tmp_path / "whole.db", tmp_path, kind)
    pruned = lived(where, tmp_path, kind)
    before = shown(pruned)
    outcome = pruned.prune(BEFORE)
    assert (outcome.epoch, outcome.already) == (BEFORE, False)
    assert outcome.events > 15
    assert shown(pruned) == before == shown(whole)
    seen = [before["digest"]]
    for step in later(kind, rules_of(tmp_path, kind)[2]):
        step(whole)
        step(pruned)
        assert shown(pruned) == shown(whole)
        seen.append(digest_of(whole))
    assert len(set(seen)) > 5
    for ledger in (pruned, Ledger.open(where)):
        found = verify(ledger, checkpoint(whole, "test"))
        assert found.pruned is not None
        assert (found.pruned.epoch, found.epochs) == (BEFORE, CLOSED + 3)
    assert pruned.prune(CLOSED + 2).events > 10
    assert shown(pruned) == shown(whole)
    assert verify(pruned).snapshots == verify(whole).snapshots == CLOSED + 4


@pytest.mark.nightly
def test_a_store_is_smaller_after(tmp_path: Path) -> None:
    rules, skill_type, _ = rules_of(tmp_path, "workflow")
    ledger = begun(tmp_path / "s.db", rules, MINERS, [skill_type])
    for epoch in range(4):
        ledger.close_round(
            [task(n, MINERS[n % 9], 0.5, round=epoch, epoch=epoch) for n in range(500)]
        )
        ledger.close_epoch()
    size = (tmp_path / "s.db").stat().st_size
    ledger.close_epoch()
    outcome = ledger.prune(4)
    assert outcome.bytes_before >= size
    assert (tmp_path / "s.db").stat().st_size == outcome.bytes_after < size / 2


def test_an_epoch_that_is_not_closed_is_refused(tmp_path: Path) -> None:
    ledger = lived(tmp_path / "s.db", tmp_path, "skills")
    for epoch in (0, 6):
        with pytest.raises(StateError, match=f"the epoch {epoch}, expected 1 to 5") as caught:
            ledger.prune(epoch)
        assert caught.value.code == "pruned"


def test_a_state_of_too_few_closed_epochs_has_nothing_to_prune(tmp_path: Path) -> None:
    ledger = lived(tmp_path / "s.db", tmp_path, "skills", closed=1)
    with pytest.raises(StateError, match="too few epochs are closed"):
        ledger.prune(1)


def test_rules_that_read_every_record_keep_every_record(tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "s.db", window_of(tmp_path, None))
    ledger.close_epoch()
    ledger.close_epoch()
    with pytest.raises(StateError, match="collects every record of a miner") as caught:
        ledger.prune(1)
    assert caught.value.code == "pruned"


def test_rules_that_come_later_count_too(tmp_path: Path) -> None:
    ledger = lived(tmp_path / "s.db", tmp_path, "workflow")
    ledger.adopt(
        variant(tmp_path, "workflow@1.2.0", "1.3.0", put(1000, "allocation", "steps", 0, "last")),
        CLOSED + 2,
    )
    # every task is in a window of a thousand
    assert ledger.prune(BEFORE).events == 0


def test_what_is_pruned_is_said_plainly(tmp_path: Path) -> None:
    ledger = lived(tmp_path / "s.db", tmp_path, "skills")
    old = checkpoint(ledger, "test")
    whole = row_proof(ledger, 0, "reputations", ("hk-1", PYTHON))
    ledger.prune(BEFORE)
    for epoch in range(BEFORE):
        with pytest.raises(StateError, match=f"the epoch {epoch}, whose records were pruned") as e:
            row_proof(ledger, epoch, "reputations", ("hk-1", PYTHON))
        assert e.value.code == "pruned"
    row_proof(ledger, BEFORE, "reputations", ("hk-1", PYTHON)).check()
    whole.check()
    ledger.close_epoch()
    verify(ledger, old)
    with ledger.queries() as queries:
        with pytest.raises(StateError, match="the round 1, whose records were pruned"):
            queries.round_scores(1)
        with pytest.raises(StateError, match="whose records were pruned"):
            queries.round(0)
        assert next(info.round for info in queries.rounds()) > 1
        assert queries.epoch(0).events > 0
        # rounds without a time all count, and nobody knows who had a record in one that is pruned
        profile = queries.profile("hk-1")
        assert (profile.rounds, profile.counted) == (None, "all")
    shown = run("state", "show", "hk-1", "--state", str(tmp_path / "s.db"))
    assert "of its rounds records were pruned" in shown.out
    scores, _ = ledger.close_round(
        [each | {"task_id": "late", "validator": "val-1"} for each in skills_of(1, 0)[:1]]
    )
    assert not any(scores[0].scores.values())


CHANGES = {
    "a leaf": "UPDATE tallystick_epochs SET body = replace(body, 'or', 'ar') WHERE epoch = 1",
    "no leaf": "DELETE FROM tallystick_epochs WHERE epoch = 2",
    "the entry at the point": "UPDATE tallystick_log SET body = replace(body, 'null', '0') "
    "WHERE kind = 'epoch' AND body LIKE '%\"epoch\":3%'",
    "a snapshot": "UPDATE tallystick_snapshots SET body = replace(body, 'hk-1', 'hk-x') "
    "WHERE epoch = 4",
    "an entry behind the point": "UPDATE tallystick_log SET body = replace(body, 'val-', 'vol-') "
    "WHERE seq = (SELECT max(seq) FROM tallystick_log WHERE kind = 'own')",
    "no point": "DELETE FROM tallystick_pruned",
}


@pytest.mark.parametrize("change", fast_rows(CHANGES, 0, -1))
def test_a_pruned_store_that_was_changed_is_found(tmp_path: Path, change: str) -> None:
    ledger = lived(tmp_path / "s.db", tmp_path, "skills")
    ledger.prune(BEFORE)
    with closing(sqlite3.connect(tmp_path / "s.db")) as driver, driver:
        assert driver.execute(CHANGES[change]).rowcount == 1
    reseal(tmp_path / "s.db")
    with pytest.raises(DamagedError):
        verify(Ledger.open(tmp_path / "s.db"))


def checked(path: Path, place: Path) -> None:
    import_state(path, place)
    verify(Ledger.open(place))


@pytest.mark.nightly
def test_a_file_of_a_pruned_state_that_was_changed_is_refused(tmp_path: Path) -> None:
    ledger = lived(tmp_path / "s.db", tmp_path, "workflow")
    ledger.prune(BEFORE)
    export_state(ledger, tmp_path / "state.jsonl")
    lines = (tmp_path / "state.jsonl").read_text().splitlines(keepends=True)
    rows = [n for n, line in enumerate(lines) if line.startswith('{"row"')]
    assert rows == [*range(1, len(rows) + 1)]
    for number, index in enumerate([*rows[::7], rows[-1], len(lines) - 1]):
        (tmp_path / "cut.jsonl").write_text("".join(lines[:index] + lines[index + 1 :]))
        with pytest.raises(TallystickError):
            checked(tmp_path / "cut.jsonl", tmp_path / f"cut-{number}.db")
    (tmp_path / "bad.jsonl").write_text(lines[0] + '{"row":[1],"table":"tallystick_head"}\n')
    with pytest.raises(InputError, match=r"bad\.jsonl:2"):
        import_state(tmp_path / "bad.jsonl", tmp_path / "bad.db")


def test_the_command_prunes_and_verifies(tmp_path: Path) -> None:
    lived(tmp_path / "s.db", tmp_path, "skills")
    place = ("--state", str(tmp_path / "s.db"))
    digest = run("state", "info", *place, "--json").json()["state_digest"]
    done = run("state", "prune", "--keep", "2", *place)
    assert done.status == 0, done
    assert "before epoch 4;" in done.out
    assert run("state", "info", *place, "--json").json()["state_digest"] == digest
    again = json.loads(run("state", "prune", "--before-epoch", "4", "--json", *place).out)
    assert (again["already"], again["epoch"]) == (True, 4)
    assert "nothing to do" in run("state", "prune", "--before-epoch", "4", *place).out
    assert "before epoch 4 were pruned" in run("state", "verify", *place).out
    assert run("state", "prune", *place).status == 2
