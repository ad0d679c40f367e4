"""Export and import: the same state, byte for byte; what was cut, changed or forged stays out."""

import json
import re
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from cli.command import message_of, run
from examples import fast_rows
from state.chronicle import digest_of, feed, history, snapshots_of
from state.resealed import Edit, Pairs, canonical, rechained, reseal
from state.subnet import record

from tallystick.errors import TallystickError
from tallystick.plugins.registry import registry
from tallystick_state.chain import GENESIS_HASH, chained
from tallystick_state.ledger import Ledger
from tallystick_state.replay import verify
from tallystick_state.transfer import export_state, import_state

PYTHON = "executable_python"
Change = Callable[[list[str]], list[str]]


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of a state of two lines that carries values over, with rules and pools to come."""
    folder = tmp_path_factory.mktemp("exported")
    window = [{"type": PYTHON, "rounds_ago": 1, "task": "t1", "quality": "0.500000000"}]
    carried = {"format": 1, "miners": {"hk-c": {"uid": 99, "types": [PYTHON], "window": window}}}
    (folder / "carry.json").write_text(json.dumps(carried))
    lines, pools = ["skills@1.1.0", "workflow@1.1.0"], {"skills": "0.7", "workflow": "0.3"}
    with Ledger.create(
        folder / "state.db", lines, pools=pools, carry=folder / "carry.json"
    ) as ledger:
        for epoch in history(3, epochs=2):
            feed(ledger, epoch, folder)
            ledger.select_group(PYTHON, 1, "seed")
            ledger.close_epoch()
        ledger.adopt("skills@1.2.0", 9)
        ledger.withdraw("skills")
        ledger.adopt("skills@1.2.0", 9)
        ledger.share({"skills": "0.6", "workflow": "0.4"}, 9)
        # no closing covers it
        ledger.import_events([record("t-last", "hk-c", round=99, epoch=2)])
        both = [record("t-both", "hk-c", epoch=2, consensus=each) for each in (0.5, 1.0)]
        ledger.import_events(both, bad="reject")
        with ledger.queries() as queries:
            ledger.drop([max(each.seq for each in queries.quarantine())])
        export_state(ledger, folder / "export.jsonl")
    return folder / "export.jsonl"


def test_a_state_comes_back_byte_for_byte(exported: Path, tmp_path: Path) -> None:
    where = str(tmp_path / "again.db")
    told = import_state(exported, where)
    with Ledger.open(where) as again, Ledger.open(str(exported.parent / "state.db")) as first:
        assert digest_of(again) == digest_of(first)
        assert snapshots_of(again) == snapshots_of(first)
        assert export_state(again, tmp_path / "again.jsonl") == told
        assert verify(again).entries == told.entries
    assert (tmp_path / "again.jsonl").read_bytes() == exported.read_bytes()


def test_the_file_is_what_the_page_says(exported: Path) -> None:
    header, *entries = map(json.loads, exported.read_text(encoding="utf-8").splitlines())
    last = GENESIS_HASH
    for number, entry in enumerate(entries, 1):
        assert entry["seq"] == number
        body = json.dumps(entry["body"], sort_keys=True, ensure_ascii=False, separators=(",", ":"))
        last = chained(last, number, entry["kind"], body).hash
        assert entry["hash"] == last
    assert header == {"entries": len(entries), "hash": last, "tallystick_state": 9}


CHANGES: dict[str, Change] = {
    "empty": lambda _: [],
    "no header": lambda lines: lines[1:],
    "only the header": lambda lines: lines[:1],
    "another format": lambda lines: [lines[0].replace('state":9', 'state":8'), *lines[1:]],
    "a count that is too low": lambda lines: [
        lines[0].replace('entries":', 'entries":1'),
        *lines[1:],
    ],
    "another last hash": lambda lines: [lines[0].replace('"hash":"', '"hash":"0'), *lines[1:]],
    "the last entry gone": lambda lines: lines[:-1],
    "the first entry gone": lambda lines: [lines[0], *lines[2:]],
    "an entry gone": lambda lines: lines[:5] + lines[6:],
    "an entry twice": lambda lines: [*lines[:5], lines[4], *lines[5:]],
    "the last entry twice": lambda lines: [*lines, lines[-1]],
    "two entries swapped": lambda lines: [*lines[:4], lines[5], lines[4], *lines[6:]],
    "cut in a line": lambda lines: [*lines[:-1], lines[-1][:-9]],
    "cut before the last end of line": lambda lines: [*lines[:-1], lines[-1][:-1]],
    "an empty line": lambda lines: [*lines, "\n"],
    "a line of text": lambda lines: [*lines[:3], "text\n", *lines[3:]],
    "a line of JSON": lambda lines: [*lines[:3], "[1]\n", *lines[3:]],
    "another name": lambda lines: [line.replace("hk-1", "hk-x") for line in lines],
    "another rule set": lambda lines: [line.replace("skills", "skillz", 1) for line in lines],
    "white space": lambda lines: [lines[0], *(line.replace(",", ", ", 1) for line in lines[1:])],
    "a deep line": lambda lines: [lines[0], "[" * 100_000 + "\n", *lines[1:]],
    "a deep header": lambda lines: ["[" * 100_000 + "\n", *lines[1:]],
    "a header that is no object": lambda lines: ["[1]\n", *lines[1:]],
    "a row of a state that was not pruned": lambda lines: [
        lines[0],
        '{"row":[1,"sha256:0","{}"],"table":"tallystick_epochs"}\n',
        *lines[1:],
    ],
    "another hash of an entry": lambda lines: [
        lines[0],
        re.sub('(?<="hash":").', lambda digit: "01"[digit[0] == "0"], lines[1], count=1),
        *lines[2:],
    ],
    "a log that was chained anew below its header": lambda lines: [
        lines[0],
        *rechained(lines, _edit("signal", '"round":99', '"round":98'))[1:],
    ],
    "a file of records": lambda _: [json.dumps(record("t1")) + "\n"],
}


def _edit(kind: str, old: str, new: str) -> Edit:
    def edited(pairs: Pairs) -> None:
        place = next(n for n, each in enumerate(pairs) if each[0] == kind and old in each[1])
        pairs[place] = kind, pairs[place][1].replace(old, new, 1)

    return edited


def _add(kind: str, **body: object) -> Edit:
    return lambda pairs: pairs.append((kind, canonical(body)))


_GROUP: dict[str, Any] = {"skill_type": PYTHON, "round": 1, "seed": "seed", "epoch": 0}
FORGED: Mapping[str, Edit] = {
    "the digest of a snapshot": _edit("epoch", '"snapshot":"sha256:', '"snapshot":"sha256:0'),
    "the number of an epoch": _edit("epoch", '"epoch":0', '"epoch":1'),
    "the members of a group": _edit("group", '"hk-', '"hx-'),
    "the type of a miner": _edit("miner", '"types":["', '"types":["x'),
    "the uid of a miner": _edit("miner", '"uid":', '"uid":-'),
    "a key that is missing": _edit("miner", '"uid"', '"u"'),
    "a key too many": _edit("miner", '"uid"', '"also":1,"uid"'),
    "white space": _edit("miner", '"uid":', '"uid": '),
    "the hotkey of an event": _edit("signal", '"hotkey":"hk-', '"hotkey":"hx-'),
    "the epoch of an event": _edit("signal", '"epoch":0', '"epoch":7'),
    "the key of an event": _edit("signal", '"hotkey"', '"hotkez"'),
    "the quality of an event": _edit("signal", '"quality":"', '"quality":"x'),
    "the format": _edit("genesis", '"format":3', '"format":2'),
    "the digest of the rule set": _edit("genesis", '"digest":"sha256:', '"digest":"sha256:0'),
    "the name of the rule set": _edit("genesis", '"reference":"skills', '"reference":"skillz'),
    "an event twice": lambda pairs: pairs.insert(9, pairs[8]),
    "a second genesis": lambda pairs: pairs.append(pairs[0]),
    "an unknown kind": lambda pairs: pairs.append(("other", "{}")),
    "an epoch that was closed": lambda pairs: pairs.append(
        next(each for each in pairs if each[0] == "epoch")
    ),
    "a miner again": lambda pairs: pairs.append(
        next(each for each in reversed(pairs) if each[0] == "miner")
    ),
    "a body that is no object": lambda pairs: pairs.append(("miner", "[]")),
    "a number as body": lambda pairs: pairs.append(("signal", "1")),
    "a hotkey that is no text": _add("miner", hotkey=7, uid=1, types=[PYTHON]),
    "a uid that is no number": _add("miner", hotkey="hk-new", uid="1", types=[PYTHON]),
    "types that are no list": _add("miner", hotkey="hk-new", uid=1, types={PYTHON: 1}),
    "a hotkey to clear that is no text": _add("clear", hotkey=[], at=None),
    "a time that is no text": _add("round", round=1, at=1),
    "a round that is no number": _add("round", round="1", at=None),
    "a group of a round that is no number": _add("group", **_GROUP | {"round": "1"}),
    "a group of a round that no store holds": _add("group", **_GROUP | {"round": 2**70}),
    "an event of a round that no store holds": _edit("signal", '"round":', f'"round":{2**70}'),
    "a rule set that is no text": _edit("genesis", '"text":"', '"text":1.5,"was":"'),
    "the epoch of an adoption": _edit("rules", '"epoch":9', '"epoch":1'),
    "an adoption at an epoch that no store holds": _edit("rules", '"epoch":9', f'"epoch":{2**52}'),
    "the line of an adoption": _edit("rules", '"line":"skills', '"line":"skillz'),
    "the rules before an adoption": _edit("rules", '"previous":"sha256:', '"previous":"sha256:0'),
    "the number of an adoption": _edit("rules", '"sequence":1', '"sequence":2'),
    "the digest of adopted rules": _edit("rules", '"digest":"sha256:', '"digest":"sha256:0'),
    "adopted rules that are no text": _edit("rules", '"text":"', '"text":1,"was":"'),
    "an adoption of no rules": _edit("rules", '"rule_set":{', '"rule_set":{},"was":{'),
    "a major change that is none": _edit("rules", '"line"', '"major":false,"line"'),
    "a statement that nobody signed": _edit(
        "rules", '"sequence":1', '"sequence":1,"statement":"x"'
    ),
    "a withdrawal of other rules": _edit("withdraw", '"rule_set":"sha256:', '"rule_set":"sha256:0'),
    "the line of a withdrawal": _edit("withdraw", '"line":"skills', '"line":"skillz'),
    "a withdrawal again": lambda pairs: pairs.append(
        next(each for each in pairs if each[0] == "withdraw")
    ),
    "an adoption again": lambda pairs: pairs.append(
        next(each for each in reversed(pairs) if each[0] == "rules")
    ),
    "an event of a round before the first": _edit("signal", '"round":99', '"round":-9'),
    "a carried miner": _edit("genesis", '"hk-c"', '"hk-d"'),
    "a carried record": _edit("carried", '"missed":false', '"missed":true'),
    "pools of another sum": _edit(
        "genesis", '"shares":{"skills":"0.7"', '"shares":{"skills":"0.8"'
    ),
    "a share in another spelling": _edit("genesis", '":"0.7","workflow"', '":"0.70","workflow"'),
    "a share that is no text": _edit("genesis", '":"0.7","workflow"', '":0.7,"workflow"'),
    "pools of no idle lines": _edit("genesis", '"proportional"', '"nowhere"'),
    "shares that are a list": _edit("genesis", '"shares":{', '"shares":[{'),
    "pools of another line": _edit("genesis", '"workflow":"0.3"', '"workflowz":"0.3"'),
    "the pools before": _edit("pools", '"previous":"sha256:', '"previous":"sha256:0'),
    "later pools in another spelling": _edit("pools", '"0.6"', '"0.60"'),
    "later pools that are no text": _edit("pools", '"0.6"', "0.6"),
    "the number of pools": _edit("pools", '"sequence":1', '"sequence":2'),
    "no genesis": lambda pairs: pairs.pop(0),
}


ALTERED = CHANGES | {
    case: lambda lines, edit=edit: rechained(lines, edit) for case, edit in FORGED.items()
}
FAST = (
    *[*CHANGES][::4],
    *[*FORGED][::4],
    *("the number of an adoption", "an event of a round before the first"),
    *("a carried miner", "later pools in another spelling"),
    *("another hash of an entry", "a log that was chained anew below its header"),
)


@pytest.mark.parametrize("case", fast_rows(ALTERED, *map([*ALTERED].index, FAST)))
def test_a_file_that_was_altered_makes_no_state(exported: Path, tmp_path: Path, case: str) -> None:
    lines = exported.read_text(encoding="utf-8").splitlines(keepends=True)
    assert rechained(lines, lambda _: None) == lines
    path, where = tmp_path / "bad.jsonl", tmp_path / "new.db"
    path.write_text("".join(ALTERED[case](lines)), encoding="utf-8")
    assert path.read_bytes() != exported.read_bytes()
    assert str(path) in message_of(run("state", "import", path, "--state", where))
    assert run("state", "info", "--state", where).status == 2
    # the place is as good as before
    assert run("state", "import", exported, "--state", where).status == 0


def test_an_import_never_touches_what_is_there(exported: Path, tmp_path: Path) -> None:
    with Ledger.create(str(tmp_path / "mine.db"), "skills@1.0.0") as ledger:
        before = digest_of(ledger)
        said = message_of(run("state", "import", exported, "--state", tmp_path / "mine.db"))
        assert said.startswith(f"{tmp_path / 'mine.db'}: found a store, expected none")
        assert digest_of(ledger) == before


def test_an_export_does_not_replace_the_store_that_it_reads(tmp_path: Path) -> None:
    where = tmp_path / "state.db"
    with Ledger.create(str(where), "skills@1.0.0") as ledger:
        before = digest_of(ledger)
    said = message_of(run("state", "export", where, "--state", where))
    assert str(where) in said
    with Ledger.open(str(where)) as ledger:
        assert digest_of(ledger) == before


def test_an_export_that_cannot_be_written_says_so(exported: Path, tmp_path: Path) -> None:
    store = exported.parent / "state.db"
    for path in (tmp_path, tmp_path / "no" / "file.jsonl", Path("/dev/full")):
        assert str(path) in message_of(run("state", "export", path, "--state", store))
    assert list(tmp_path.iterdir()) == []


def test_other_plugins_than_it_began_with_are_told(exported: Path, tmp_path: Path) -> None:
    """A rule set that its formulas are missing of, and one that now means something else."""
    with pytest.raises(TallystickError) as caught:
        Ledger.open(str(exported.parent / "state.db"), registry=registry([]))
    message = str(caught.value)
    assert "found a state whose rule set skills@1.1.0 does not load" in message
    assert "begin anew with tallystick state init and record its rounds again" in message
    copy = tmp_path / "copy.db"
    import_state(exported, str(copy))
    with closing(sqlite3.connect(copy)) as connection, connection:
        connection.execute(
            "UPDATE tallystick_log SET body = replace(body, 'digest\":\"sha256:', "
            "'digest\":\"sha256:0') WHERE seq = 1"
        )
    reseal(copy)
    said = message_of(run("state", "info", "--state", copy))
    assert said.endswith("install the plugins that the state began with")
