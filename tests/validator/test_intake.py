"""The intake: what was answered is kept, once, and is in one batch at a time."""

import json
import shutil
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
from examples import examples
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test
from state.subnet import event, missed, record
from validator.daemons import ALICE, ROUNDS, lines, network, records

from tallystick.errors import StoreError
from tallystick.io.lines import MAX_LINE_BYTES
from tallystick_validator.admission import Admission
from tallystick_validator.intake import KEPT_EPOCHS, Answer, Intake


def statuses(answers: list[Answer]) -> list[str]:
    return [answer.status for answer in answers]


def test_each_line_is_answered_in_its_place(intake: Intake) -> None:
    first, second = lines(records(ALICE, 0, 2))
    answers = intake.take([first, first, b"{", second])
    assert [(a.line, a.status) for a in answers] == [
        (1, "recorded"),
        (2, "duplicate"),
        (3, "rejected"),
        (4, "recorded"),
    ]
    assert json.loads(answers[0].to_json()) == {"line": 1, "status": "recorded"}
    assert list(json.loads(answers[2].to_json())) == [
        *("line", "status", "code", "path", "value", "expected")
    ]


def test_another_spelling_is_the_same_record(intake: Intake) -> None:
    (row,) = records(ALICE, 0, 1)
    spelled = json.dumps(dict(reversed(row.items())), indent=1).replace("\n", " ").encode()
    assert statuses(intake.take(lines([row]))) == ["recorded"]
    assert statuses(intake.take([spelled, b"  " + spelled + b"\r"])) == ["duplicate"] * 2


def test_missed_deadlines_and_events_are_records_too(intake: Intake) -> None:
    rows = [
        missed("m", validator=ALICE),
        event("e", "collusion_flag", "m", validator=ALICE),
        event("f", "collusion_flag", "m", validator=ALICE),
    ]
    assert statuses(intake.take(lines(rows))) == ["recorded"] * 3
    assert statuses(intake.take(lines(rows))) == ["duplicate"] * 3
    intake.freeze(0)
    assert len(intake.lines(0)) == 3


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b"{", "invalid-json"),
        (b"\0" * 100, "invalid-json"),
        (b"\xff\xfe", "invalid-utf8"),
        (b"null", "not-an-object"),
        (b"[" * 5000, "too-deep"),
        (b"x" * (MAX_LINE_BYTES + 1), "line-too-long"),
        (json.dumps(record("t", validator="bob")).encode(), "other-validator"),
        (json.dumps(record("t", validator=ALICE, round=ROUNDS)).encode(), "other-round"),
        (b'{"skill_type":"unknown"}', "unknown-skill-type"),
        (
            json.dumps(record("t", validator=ALICE, epoch=9, round=9 * ROUNDS)).encode(),
            "future-epoch",
        ),
    ],
)
def test_a_bad_line_is_refused_by_its_code(intake: Intake, line: bytes, code: str) -> None:
    intake.admission.block = network().first_block(7)
    (answer,) = intake.take([line])
    assert (answer.status, answer.code) == ("rejected", code)
    assert answer.expected
    assert len(answer.to_json()) < 1000


def sparse(task: str, **more: object) -> bytes:
    """A record that says what its maker alone knows."""
    left_out = ("round", "epoch", "validator", "role")
    row = {name: value for name, value in record(task).items() if name not in left_out}
    return json.dumps({**row, "miner": {"hotkey": row["miner"]["hotkey"]}, **more}).encode()


def test_what_a_record_leaves_out_is_filled_in(intake: Intake) -> None:
    hotkey = record("t")["miner"]["hotkey"]
    admission = intake.admission
    admission.block, admission.uids = network().first_block(4) + 3, {hotkey: 17}
    assert statuses(intake.take([sparse("t")])) == ["recorded"]
    intake.freeze(4)
    row = json.loads(intake.lines(4)[0])
    assert (row["round"], row["epoch"]) == (4 * ROUNDS + 1, 4)
    assert (row["validator"], row["role"], row["miner"]["uid"]) == (ALICE, "primary", 17)


def test_what_a_record_says_stays(intake: Intake) -> None:
    admission = intake.admission
    admission.block, admission.uids = network().first_block(4), {record("t")["miner"]["hotkey"]: 17}
    rows = [sparse("t", round=1), sparse("u", role="auditor", epoch=4)]
    assert statuses(intake.take(rows)) == ["recorded"] * 2
    intake.freeze(4)
    kept = {row["task_id"]: row for row in map(json.loads, intake.lines(4))}
    assert (kept["t"]["round"], kept["t"]["epoch"]) == (1, 0)
    assert (kept["u"]["epoch"], kept["u"]["role"]) == (4, "auditor")


def test_a_record_without_a_round_counts_once_however_late_it_comes_again(intake: Intake) -> None:
    admission = intake.admission
    admission.block, admission.uids = network().first_block(0), {record("t")["miner"]["hotkey"]: 17}
    assert statuses(intake.take([sparse("t")])) == ["recorded"]
    admission.block = network().first_block(3)
    assert statuses(intake.take([sparse("t"), sparse("u")])) == ["duplicate", "recorded"]


@pytest.mark.parametrize(
    ("more", "uids", "code", "path"),
    [
        ({"miner": {"uid": 3, "hotkey": "hk-1"}}, {"hk-1": 17}, "other-uid", "miner.uid"),
        ({"miner": {"hotkey": "hk-2"}}, {"hk-1": 17}, "no-slot", "miner.hotkey"),
        ({"miner": {"hotkey": "hk-1"}}, None, "chain-unknown", "miner.uid"),
        ({"miner": "hk-1"}, {"hk-1": 17}, "wrong-type", "miner"),
        ({"validator": "bob"}, {"hk-1": 17}, "other-validator", "validator"),
        ({"epoch": 0}, {"hk-1": 17}, "other-round", "round"),
    ],
)
def test_what_cannot_be_filled_in_is_refused_by_its_code(
    intake: Intake, more: dict[str, object], uids: dict[str, int] | None, code: str, path: str
) -> None:
    admission = intake.admission
    admission.block, admission.uids = network().first_block(4), uids
    (answer,) = intake.take([sparse("t", **{"miner": {"hotkey": "hk-1"}, **more})])
    assert (answer.status, answer.code, answer.path) == ("rejected", code, path)


@pytest.mark.parametrize(("block", "code"), [(None, "chain-unknown"), (0, "future-epoch")])
def test_no_round_is_filled_in_before_there_is_one(
    intake: Intake, block: int | None, code: str
) -> None:
    intake.admission.block = block
    (answer,) = intake.take([sparse("t")])
    assert (answer.status, answer.code) == ("rejected", code)


def test_the_second_of_two_that_differ_is_refused(intake: Intake) -> None:
    (row,) = records(ALICE, 0, 1)
    assert statuses(intake.take(lines([row]))) == ["recorded"]
    (answer,) = intake.take(lines([{**row, "consensus": 0.5}]))
    assert (answer.status, answer.code) == ("rejected", "conflict")
    intake.freeze(0)
    assert intake.lines(0) == tuple(lines([row]))


def test_a_full_intake_refuses_and_loses_nothing(tmp_path: Path, admission: Admission) -> None:
    rows = lines(records(ALICE, 0, 6))
    with Intake(tmp_path / "i.db", admission, waiting_bytes=3 * len(rows[0]) + 100) as intake:
        answers = intake.take(rows)
        kept = [
            row for row, answer in zip(rows, answers, strict=True) if answer.status == "recorded"
        ]
        assert 0 < len(kept) < len(rows)
        assert {answer.code for answer in answers} == {"", "intake-full"}
        intake.freeze(0)
        assert sorted(intake.lines(0)) == sorted(kept)
        intake.settle(0, intake.identities(0))
        assert "recorded" in statuses(intake.take([row for row in rows if row not in kept]))


def test_a_batch_is_bounded_and_the_rest_waits(tmp_path: Path, admission: Admission) -> None:
    rows = lines(records(ALICE, 0, 6))
    with Intake(tmp_path / "i.db", admission, batch_bytes=3 * len(rows[0]) + 100) as intake:
        intake.take(rows)
        batches = []
        for epoch in range(3):
            intake.freeze(epoch)
            batches.append(intake.lines(epoch))
            intake.settle(epoch, intake.identities(epoch))
        assert sorted(line for of_epoch in batches for line in of_epoch) == sorted(rows)
        # those that wait longest come first
        assert set(batches[0]) == set(rows[: len(batches[0])])


def test_records_that_the_state_refused_can_be_sent_again(intake: Intake) -> None:
    rows = lines(records(ALICE, 0, 2))
    intake.take(rows)
    intake.freeze(0)
    judged = intake.admission.judge(rows[0], 1)
    intake.settle(0, {judged.identity}, lets_go=True)  # type: ignore[union-attr]  # it is admitted
    assert statuses(intake.take(rows)) == ["duplicate", "recorded"]


def test_a_record_that_was_changed_on_the_disk_is_no_part_of_a_batch(
    tmp_path: Path, admission: Admission
) -> None:
    path = tmp_path / "i.db"
    with Intake(path, admission) as intake:
        intake.take(lines(records(ALICE, 0, 2)))
        intake.freeze(0)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE record SET line = replace(line, '30000', '30001') WHERE seq = 1")
    with Intake(path, admission) as intake, pytest.raises(StoreError, match="as it was written"):
        intake.lines(0)


def test_old_digests_are_forgotten(intake: Intake) -> None:
    rows = lines(records(ALICE, 0, 1))
    intake.take(rows)
    for epoch in (0, KEPT_EPOCHS, KEPT_EPOCHS + 1):
        intake.freeze(epoch)
        intake.settle(epoch, intake.identities(epoch))
    assert statuses(intake.take(rows)) == ["recorded"]


def test_many_senders_at_once_have_their_own_answers(intake: Intake) -> None:
    every = [lines(records(ALICE, epoch, 20)) for epoch in range(8)]
    with ThreadPoolExecutor(8) as pool:
        answers = [*pool.map(intake.take, every * 2)]
    assert all([a.line for a in of_sender] == [*range(1, 21)] for of_sender in answers)
    counted = [status for of_sender in answers for status in statuses(of_sender)]
    assert (counted.count("recorded"), counted.count("duplicate")) == (160, 160)


class Batches(RuleBasedStateMachine):
    """An intake beside a model: sets of records that wait, are in batches, or are closed."""

    folder: Path
    admission: Admission
    rows: tuple[bytes, ...]

    def __init__(self) -> None:
        super().__init__()
        self.path = self.folder / f"{id(self)}.db"
        self.intake = Intake(self.path, self.admission)
        self.waiting: set[int] = set()
        self.batches: dict[int, set[int]] = {}
        self.closed: set[int] = set()
        self.settled: set[int] = set()

    def teardown(self) -> None:
        self.intake.close()
        self.path.unlink()

    @rule(numbers=st.lists(st.integers(0, 17), max_size=6))
    def send(self, numbers: list[int]) -> None:
        known = self.waiting | self.closed | set().union(*self.batches.values())
        expected = []
        for number in numbers:
            expected.append("duplicate" if number in known else "recorded")
            self.waiting |= {number} - known
            known.add(number)
        assert statuses(self.intake.take([self.rows[n] for n in numbers])) == expected

    @rule(epoch=st.integers(0, 2))
    def freeze(self, epoch: int) -> None:
        self.intake.freeze(epoch)
        if epoch not in self.batches and epoch not in self.settled:
            self.batches[epoch] = {n for n in self.waiting if n // 6 <= epoch}
            self.waiting -= self.batches[epoch]

    @rule(epoch=st.integers(0, 2), counted=st.booleans())
    def settle(self, epoch: int, counted: bool) -> None:
        self.intake.settle(epoch, self.intake.identities(epoch) if counted else ())
        if epoch not in self.settled:
            rows = self.batches.pop(epoch, set())
            self.settled.add(epoch)
            self.closed |= rows if counted else set()
            self.waiting |= set() if counted else rows

    @rule()
    def open_again(self) -> None:
        self.intake.close()
        self.intake = Intake(self.path, self.admission)

    @invariant()
    def each_record_is_in_one_place(self) -> None:
        for epoch in range(3):
            expected = {self.rows[n] for n in self.batches.get(epoch, ())}
            assert {*self.intake.lines(epoch)} == expected
        counts = self.intake.counts()
        assert counts.waiting == len(self.waiting)
        assert counts.batched == sum(map(len, self.batches.values()))


def test_a_record_is_in_one_place_whatever_happens(tmp_path: Path, admission: Admission) -> None:
    rows = tuple(row for epoch in range(3) for row in lines(records(ALICE, epoch, 6)))
    values = {"folder": tmp_path, "admission": admission, "rows": rows}
    machine = type("BatchesHere", (Batches,), values)
    run_state_machine_as_test(machine, settings=examples(24))  # type: ignore[no-untyped-call]  # its own


def test_a_killed_intake_has_all_that_it_answered(tmp_path: Path, admission: Admission) -> None:
    """The files hold a row by the time its answer comes, so that a kill loses none."""
    path, rows = tmp_path / "i.db", lines(records(ALICE, 0, 20))
    with Intake(path, admission) as intake:
        for number, row in enumerate(rows, 1):
            assert statuses(intake.take([row])) == ["recorded"]
            if number not in {1, 7, 20}:
                continue
            left = tmp_path / f"{number}"
            left.mkdir()
            for file in tmp_path.glob("i.db*"):
                shutil.copy(file, left)
            with Intake(left / "i.db", admission) as again:
                assert statuses(again.take(rows[:number])) == ["duplicate"] * number
                assert again.counts().waiting == number
