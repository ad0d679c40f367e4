"""A state that moves over: what it carries counts as if it had been recorded, and is proved."""

import json
import re
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from cli.command import run
from examples import fast_rows
from state.resealed import reseal
from state.rounds import BEFORE, MINERS, PYTHON, ROUNDS, SKILLS, WORKFLOW
from state.signing import ALICE, BOB, VAL_1, Key, digest, envelope, root, written_root
from state.subnet import begun
from state.trusted import authority

from tallystick.errors import DamagedError, InputError, StateError, TrustError
from tallystick_chain.network import Network
from tallystick_state.carry_file import CarryFile
from tallystick_state.groups import is_ejected
from tallystick_state.ledger import Ledger
from tallystick_state.model import unstructure
from tallystick_state.replay import verify
from tallystick_state.rules_in_force import begin_under
from tallystick_state.transfer import export_state, import_state

NETWORK = """
format = 1
network = { name = "example", netuid = 7, anchor_block = 20 }
rounds = { blocks = 3 }
epochs = { rounds = 4 }
weights = { at = 4 }
"""
Value = dict[str, Any]


def lived(place: Path | str, rules: str) -> Ledger:
    """A state of several rounds and two closed epochs."""
    skill_type, made = ROUNDS[rules]
    ledger = begun(place, rules, MINERS, [skill_type])
    for number in range(BEFORE):
        ledger.close_round(made(number, ledger.open_epoch()))
        if number in {2, BEFORE - 1}:
            ledger.close_epoch()
    return ledger


def carry_of(ledger: Ledger) -> Value:
    """The carry file of a state, as its operator would write it of what the state shows."""
    with ledger.queries() as queries:
        state, transaction = unstructure(queries.state), queries.transaction
        columns: dict[str, dict[str, dict[str, str]]] = {}
        for line, of_line in state.get("carry", {}).items():
            for column, values in of_line.items():
                for hotkey, text in values.items():
                    columns.setdefault(hotkey, {}).setdefault(line, {})[column] = text
        miners: Value = {}
        for hotkey, miner in state["miners"].items():
            window = [
                {
                    "type": event.skill_type,
                    "rounds_ago": BEFORE - event.round,
                    "task": event.task_id,
                    "missed": event.missed,
                    "measures": event.measures,
                    **({} if event.quality is None else {"quality": event.quality}),
                    **({} if event.emission is None else {"emission": event.emission}),
                }
                for event in transaction.scored(hotkey)
            ]
            miners[hotkey] = {
                "uid": miner["uid"],
                "types": miner["types"],
                "reputation": miner["reputation"],
                "flags": {"": miner["flags"]} if miner["flags"] else {},
                "columns": columns.get(hotkey, {}),
                "window": window,
            }
    return {"format": 1, "miners": miners, "thresholds": state["thresholds"]}


def written(folder: Path, value: object, name: str = "carry.json") -> Path:
    path = folder / name
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def moved(folder: Path, rules: str, place: Path | str) -> tuple[Ledger, Ledger]:
    """A state, and one that has moved over from it."""
    old = lived(folder / "old.db", rules)
    return old, Ledger.create(place, rules, carry=written(folder, carry_of(old)))


def values_of(ledger: Ledger) -> Mapping[str, Any]:
    """Whatever pays: reputations, thresholds, averages and weights."""
    with ledger.queries() as queries:
        state = unstructure(queries.state)
        return {
            "weights": queries.weights(),
            "reputations": {name: m["reputation"] for name, m in state["miners"].items()},
            "thresholds": state["thresholds"],
            "carry": state.get("carry"),
        }


@pytest.mark.parametrize("rules", fast_rows([WORKFLOW, SKILLS], 0))
def test_a_moved_state_goes_on_as_the_old_one(tmp_path: Path, rules: str) -> None:
    old, new = moved(tmp_path, rules, tmp_path / "new.db")
    made = ROUNDS[rules][1]
    seen = [values_of(old)]
    # some weights read the last closed round, which does not move
    before = values_of(new)
    assert {**before, "weights": 0} == {**seen[0], "weights": 0}
    if rules == WORKFLOW:
        assert before["weights"] == seen[0]["weights"]
    for number in range(3):
        for ledger, first in ((old, BEFORE), (new, 0)):
            ledger.close_round(made(first + number, ledger.open_epoch()))
            ledger.close_epoch()
        assert values_of(new) == values_of(old)
        seen.append(values_of(new))
    assert all(a != b for a, b in pairwise(seen))
    assert verify(new).snapshots == 4


def test_the_carried_values_are_in_every_digest(tmp_path: Path) -> None:
    old = lived(tmp_path / "old.db", WORKFLOW)
    value = carry_of(old)
    other = json.loads(json.dumps(value))
    other["miners"]["hk-0"]["window"][0]["quality"] = "0.123456789"
    digests, names = set[str](), set[str]()
    for name, each in (("a", value), ("b", other), ("c", None)):
        carry = None if each is None else written(tmp_path, each, f"{name}.json")
        ledger = Ledger.create(tmp_path / f"{name}.db", WORKFLOW, carry=carry)
        names.add(ledger.in_force.genesis)
        with ledger.queries() as queries:
            digests.add(queries.digest())
    assert len(digests) == len(names) == 3


def test_the_order_and_spelling_of_a_carry_file_do_not_matter(tmp_path: Path) -> None:
    value = carry_of(lived(tmp_path / "old.db", WORKFLOW))
    turned = {**value, "miners": dict(reversed(value["miners"].items()))}
    for miner in turned["miners"].values():
        miner["window"] = miner["window"][::-1]
    in_force = begin_under([WORKFLOW], None, None)
    first, second = (
        CarryFile.read(written(tmp_path, each), in_force.at(0)).carried()
        for each in (value, turned)
    )
    assert first == second


def test_a_network_file_is_in_every_digest(tmp_path: Path) -> None:
    network = f"sha256:{'ab' * 32}"
    plain = Ledger.create(tmp_path / "plain.db", WORKFLOW)
    named = Ledger.create(tmp_path / "named.db", WORKFLOW, network=network)
    assert named.in_force.network == network
    assert Ledger.open(tmp_path / "named.db").in_force.network == network
    assert plain.in_force.genesis != named.in_force.genesis
    with plain.queries() as a, named.queries() as b:
        assert a.digest() != b.digest()
    assert verify(named).entries == 1
    with pytest.raises(StateError, match="expected sha256:"):
        Ledger.create(tmp_path / "bad.db", WORKFLOW, network="sha256:no")


def test_carried_records_show_up_in_no_round(tmp_path: Path) -> None:
    _, new = moved(tmp_path, WORKFLOW, tmp_path / "new.db")
    with new.queries() as queries:
        info = queries.info()
        assert (info.records_round, info.open_events, info.miners) == (None, 0, 9)
        assert queries.rounds() == queries.rounds(3) == []
        assert queries.epoch(0).events == 0


def base() -> Value:
    return {
        "format": 1,
        "miners": {
            "hk-0": {
                "uid": 0,
                "types": [PYTHON],
                "reputation": {PYTHON: "0.700000000"},
                "columns": {"skills": {"average": "0.100000000"}},
            }
        },
    }


def changed(*path: Any, value: object) -> Value:  # noqa: ANN401  # keys
    made: Any = base()
    inner = made
    for key in path[:-1]:
        inner = inner.setdefault(key, {})
    inner[path[-1]] = value
    return dict(made)


MINER = ("miners", "hk-0")
COLUMNS = {"skills": {"average": "0.100000000"}}
RECORD = {"type": PYTHON, "rounds_ago": 1, "task": "t1", "quality": "0.500000000"}
BAD_FILES = [
    ([], "the whole: found a list of 0"),
    (changed("format", value=2), "format: found 2, expected the version of this format"),
    (changed(*MINER, "uid", value=70000), "miners.hk-0.uid: found 70000"),
    (changed(*MINER, "types", value=[]), "miners.hk-0.types"),
    (changed(*MINER, "more", value=1), 'found "more"'),
    (
        changed(*MINER, "reputation", PYTHON, value="0.7"),
        'reputation.executable_python: found "0.7"',
    ),
    (changed(*MINER, "reputation", PYTHON, value=0), "text of a decimal of nine places"),
    (
        changed(*MINER, "window", value=[RECORD | {"rounds_ago": 0}]),
        "window[0].rounds_ago: found 0",
    ),
]
BAD_VALUES = [
    (changed(*MINER, "types", value=["pythn"]), 'miners.hk-0.types: found the skill type "pythn"'),
    (
        changed(*MINER, "reputation", PYTHON, value="9.000000000"),
        "reputation.executable_python: found 9.000000000, expected 0",
    ),
    (
        changed("miners", "hk-1", value={"types": [PYTHON], "columns": COLUMNS}),
        "found columns of a miner without a uid",
    ),
    (changed(*MINER, "columns", "other", value={}), 'columns: found the line "other"'),
    (
        changed(*MINER, "columns", "skills", "other", value="0.100000000"),
        'columns.skills: found the column "other"',
    ),
    (
        changed("miners", "hk-1", value={"uid": 0, "types": [PYTHON]}),
        'hk-1.uid: found the uid 0 of "hk-0"',
    ),
    (changed("miners", "a\0b", value={"types": [PYTHON]}), "expected text without control char"),
    (changed("miners", "a\x9b", value={"types": [PYTHON]}), "expected text without control char"),
    (changed("miners", "h" * 65, value={"types": [PYTHON]}), "of 65 characters"),
    (
        changed("thresholds", PYTHON, "novel", value="0.100000000"),
        "executable_python.novel: found 0.100000000, expected at least 0.",
    ),
    (
        changed("thresholds", PYTHON, "baseline", value="0.123000000"),
        "thresholds.executable_python.baseline: found 0.123000000, expected 0.",
    ),
    (
        changed("thresholds", PYTHON, "other", value="0.100000000"),
        'thresholds.executable_python: found "other"',
    ),
    (changed("thresholds", "other", value={}), 'thresholds: found "other"'),
    (changed(*MINER, "window", value=[RECORD, RECORD]), 'window[1]: found the task "t1"'),
    (
        changed(*MINER, "window", value=[RECORD | {"type": "x"}]),
        'window[0].type: found the skill type "x"',
    ),
]


@pytest.mark.parametrize(("value", "message"), [*BAD_FILES, *BAD_VALUES])
def test_a_file_of_another_form_or_of_other_rules_begins_no_state(
    tmp_path: Path, value: object, message: str
) -> None:
    path = written(tmp_path, value)
    with pytest.raises((InputError, StateError), match=re.escape(message)) as caught:
        Ledger.create(tmp_path / "state.db", SKILLS, carry=path)
    is_named = str(caught.value).startswith(str(path))
    assert caught.value.code == "bad-carry" if isinstance(caught.value, StateError) else is_named
    assert not (tmp_path / "state.db").exists()


@pytest.mark.parametrize(
    ("flags", "is_out"),
    # a quorum of two validators, or the engine
    [({"": 3}, True), ({"5V": 3}, False), ({"5V": 2, "5W": 1}, True), ({"": 2}, False)],
)
def test_flags_are_carried_so_that_who_is_ejected_stays_out(
    tmp_path: Path, flags: dict[str, int], is_out: bool
) -> None:
    value = changed(*MINER, "flags", value=flags)
    with Ledger.create(tmp_path / "state.db", SKILLS, carry=written(tmp_path, value)) as ledger:
        with ledger.queries() as queries:
            miner = queries.state.miners["hk-0"]
            assert miner.flags == sum(flags.values())
            assert is_ejected(queries.weighing("skills"), miner) is is_out
        assert verify(ledger).entries


@pytest.mark.nightly
def test_more_miners_than_slots_are_refused_with_the_limit(tmp_path: Path) -> None:
    miners = {f"hk-{number}": {"types": [PYTHON]} for number in range(65537)}
    with pytest.raises(InputError, match="expected at most 65536 miners, by hotkey"):
        Ledger.create(
            tmp_path / "s.db", SKILLS, carry=written(tmp_path, {"format": 1, "miners": miners})
        )


def test_a_text_that_is_no_json_is_refused_by_its_line(tmp_path: Path) -> None:
    path = tmp_path / "carry.json"
    path.write_text('{\n  "format": 1,\n  oops\n}', encoding="utf-8")
    with pytest.raises(InputError, match="line 3"):
        Ledger.create(tmp_path / "state.db", SKILLS, carry=path)


def signed(path: Path, trust: Path, *signers: Key, other: Value | None = None) -> bytes:
    in_force = begin_under([SKILLS], None, trust)
    carried, _ = CarryFile.read(path, in_force.at(0)).carried()
    said = {"format": 1, "network": "subnet-test", "trust": digest(root()), "carry": carried.digest}
    named = {"name": "carry", "digest": {"sha256": carried.digest.removeprefix("sha256:")}}
    return envelope("carry", said | (other or {}), *signers, subject=named)


def test_where_signatures_count_what_is_carried_is_signed(tmp_path: Path) -> None:
    carry, trust = written(tmp_path, base()), written_root(tmp_path, root())
    place = tmp_path / "state.db"

    def create(said: bytes | None) -> Ledger:
        return Ledger.create(
            place, SKILLS, validator="val-1", trust=trust, carry=carry, authority=authority(said)
        )

    zero = f"sha256:{'0' * 64}"
    for said, code in (
        (None, "unsigned"),
        (signed(carry, trust, ALICE), "threshold-not-met"),
        (signed(carry, trust, ALICE, VAL_1), "threshold-not-met"),
        (signed(carry, trust, ALICE, BOB, other={"carry": zero}), "other-carry"),
        (signed(carry, trust, ALICE, BOB, other={"trust": zero}), "other-root"),
        (signed(carry, trust, ALICE, BOB, other={"network": "else"}), "other-network"),
    ):
        with pytest.raises(TrustError) as caught:
            create(said)
        assert caught.value.code == code
        assert not place.exists()
    ledger = create(signed(carry, trust, ALICE, BOB))
    assert verify(Ledger.open(place)).entries == 1
    export_state(ledger, tmp_path / "state.jsonl")
    import_state(tmp_path / "state.jsonl", tmp_path / "copy.db", trust=trust)
    copy = Ledger.open(tmp_path / "copy.db")
    assert copy.in_force.genesis == ledger.in_force.genesis
    with closing(sqlite3.connect(place)) as driver, driver:
        driver.execute("DELETE FROM tallystick_envelopes")
    reseal(place)
    with pytest.raises(DamagedError, match="found no envelope"):
        Ledger.open(place)


def test_a_signature_where_nobody_asks_for_one_is_refused(tmp_path: Path) -> None:
    carry, trust = written(tmp_path, base()), written_root(tmp_path, root())
    said = authority(signed(carry, trust, ALICE, BOB))
    with pytest.raises(TrustError) as caught:
        Ledger.create(tmp_path / "a.db", SKILLS, carry=carry, authority=said)
    assert caught.value.code == "no-root"
    with pytest.raises(StateError, match="without a carry file"):
        Ledger.create(tmp_path / "b.db", SKILLS, trust=trust, authority=said)


def test_the_commands_move_a_state_over(tmp_path: Path) -> None:
    carry, trust = written(tmp_path, base()), written_root(tmp_path, root())
    network = tmp_path / "network.toml"
    network.write_text(NETWORK, encoding="utf-8")
    done = run(
        *("state", "init", "--rules", SKILLS, "--carry", str(carry)),
        *("--network", str(network), "--state", str(tmp_path / "s.db")),
    )
    assert done.status == 0, done
    assert "with 1 carried miner and 0 records" in done.out
    info = json.loads(run("state", "info", "--state", str(tmp_path / "s.db"), "--json").out)
    assert info["network"] == Network.load(network).digest
    assert info["carry"]["miners"] == 1
    refused = run(
        *("state", "init", "--rules", SKILLS, "--carry", str(carry), "--trust", str(trust)),
        *("--state", str(tmp_path / "t.db")),
    )
    assert refused.status == 1
    assert "found no signature of carried values" in refused.err
