"""A log that was edited and chained anew, as a forger would, still makes no state."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cli.command import message_of, run
from examples import fast_rows
from state.chronicle import feed, history
from state.subnet import record

from tallystick_state.chain import GENESIS_HASH, chained
from tallystick_state.ledger import Ledger
from tallystick_state.transfer import export_state

PYTHON = "executable_python"


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
        export_state(ledger, folder / "export.jsonl")
    return folder / "export.jsonl"


def rechained(lines: list[str], edited: Callable[[list[tuple[str, str]]], object]) -> list[str]:
    """The file of a log that was edited and chained anew, as a forger would."""
    entries = [json.loads(line) for line in lines[1:]]
    pairs = [(each["kind"], _canonical(each["body"])) for each in entries]
    edited(pairs)
    made, last = list[str](), GENESIS_HASH
    for number, (kind, body) in enumerate(pairs, 1):
        last = chained(last, number, kind, body).hash
        made.append(f'{{"hash":"{last}","seq":{number},"kind":"{kind}","body":{body}}}\n')
    header = {"entries": len(pairs), "hash": last, "tallystick_state": 9}
    return [json.dumps(header, separators=(",", ":")) + "\n", *made]


def _canonical(body: object) -> str:
    return json.dumps(body, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def _edit(kind: str, old: str, new: str) -> Callable[[list[tuple[str, str]]], object]:
    def edited(pairs: list[tuple[str, str]]) -> None:
        place = next(n for n, each in enumerate(pairs) if each[0] == kind and old in each[1])
        pairs[place] = kind, pairs[place][1].replace(old, new, 1)

    return edited


def _add(kind: str, **body: object) -> Callable[[list[tuple[str, str]]], object]:
    return lambda pairs: pairs.append((kind, _canonical(body)))


_GROUP: dict[str, Any] = {"skill_type": PYTHON, "round": 1, "seed": "seed", "epoch": 0}
FORGED = {
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


ALWAYS = (
    *("the number of an adoption", "an event of a round before the first"),
    *("a carried miner", "later pools in another spelling"),
)
PLACES = (*range(0, len(FORGED), 4), *map([*FORGED].index, ALWAYS))


@pytest.mark.parametrize("case", fast_rows(FORGED, *PLACES))
def test_a_log_that_was_forged_with_its_hashes_makes_no_state(
    exported: Path, tmp_path: Path, case: str
) -> None:
    lines = exported.read_text(encoding="utf-8").splitlines(keepends=True)
    assert rechained(lines, lambda _: None) == lines
    path, where = tmp_path / "forged.jsonl", tmp_path / "new.db"
    path.write_text("".join(rechained(lines, FORGED[case])), encoding="utf-8")
    message_of(run("state", "import", path, "--state", where))
    assert run("state", "info", "--state", where).status == 2
