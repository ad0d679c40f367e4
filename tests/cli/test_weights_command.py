"""`tallystick weights`: of the last closed round, or of the window; who has none is left out."""

import re
from collections.abc import Callable, Iterable
from pathlib import Path

from cli.command import ROOT, Finished, run
from cli.stores import PYTHON, Subnet
from state.subnet import event, missed, record, task

NO_ROUND = "no round is closed yet: close rounds with tallystick round close"
NOBODY = {"no record in the round": 1}
EMPTY = {"uids": [], "weights": [], "uint16": []}


def begun(
    subnet: Subnet, *init: str | Path, miners: Iterable[int], types: str = PYTHON
) -> Callable[..., Finished]:
    """Begin another state with its miners; return the commands on it."""
    state = ("--state", subnet.folder / "another.db")
    assert run("state", "init", *init, *state).status == 0
    for uid in miners:
        run("miner", "register", f"hk-{uid}", "--uid", str(uid), "--types", types, *state)
    return lambda *arguments: run(*arguments, *state)


def test_without_a_closed_round_there_are_none(subnet: Subnet) -> None:
    do = begun(subnet, "--rules", "skills@1.0.0", miners=[1])
    nothing = EMPTY | {"reason": NO_ROUND, "without": NOBODY}
    assert do("weights", "--json").json() == nothing
    # records alone close no round
    lines = subnet.lines(record("t1"))
    assert do("events", "import", lines).status == 0
    assert do("weights", "--json").json() == nothing
    assert do("round", "close", lines).status == 0
    assert do("weights", "--json").json() == {
        "uids": [1],
        "weights": ["1.000000000"],
        "uint16": [65535],
    }


def test_the_last_closed_round_counts(subnet: Subnet) -> None:
    """The highest that was closed, whatever the order; what comes late to it counts too."""
    subnet.do("round", "close", subnet.lines(record("t9", "hk-2", round=9)))
    subnet.do("round", "close", subnet.lines(record("t5", "hk-1", round=5)))
    assert subnet.do("weights", "--json").json()["uids"] == [2]
    subnet.do("events", "import", subnet.lines(record("t9", round=9), record("t11", round=11)))
    assert subnet.do("weights", "--json").json() == {
        "uids": [1, 2],
        "weights": ["0.500000000", "0.500000000"],
        "uint16": [65535, 65535],
    }


def test_a_late_event_closes_no_round(subnet: Subnet) -> None:
    """Or one line about a round that nobody recorded takes every weight away."""
    before = subnet.do("weights", "--json").json()
    late = event("e1", "rerun_fail", "t77", round=77)
    subnet.do("round", "close", subnet.lines(record("t3"), late))
    assert subnet.do("weights", "--json").json()["uids"] == before["uids"]


def test_slots_ascend_and_who_has_none_is_left_out(subnet: Subnet) -> None:
    for hotkey, uid in (("hk-3", "65535"), ("hk-4", "0"), ("hk-5", "300")):
        subnet.do("miner", "register", hotkey, "--uid", uid, "--types", PYTHON)
    hotkeys = ("hk-3", "hk-5", "hk-1", "hk-4", "hk-2")
    lines = [record(f"t-{hotkey}", hotkey, round=1) for hotkey in hotkeys]
    subnet.do("round", "close", subnet.lines(*lines))
    assert subnet.do("weights", "--json").json()["uids"] == [0, 1, 2, 300, 65_535]
    subnet.do("miner", "register", "fresh", "--uid", "300", "--types", PYTHON)
    found = subnet.do("weights", "--json").json()
    assert found["uids"] == [0, 1, 2, 65_535]
    assert found["weights"] == ["0.250000000"] * 4


def test_a_missed_deadline_earns_nothing(subnet: Subnet) -> None:
    subnet.do("round", "close", subnet.lines(missed("t3", round=1), record("t4", "hk-2", round=1)))
    assert subnet.do("weights", "--json").json()["uids"] == [2]
    subnet.do("round", "close", subnet.lines(missed("t5", round=2)))
    why = "no miner with a slot has a score above 0 in round 2, the last closed one"
    without = NOBODY | {"score: no record with emission above 0": 1}
    found = subnet.do("weights", "--json").json()
    assert found == EMPTY | {"reason": why, "without": without}


def test_who_has_no_weight_is_counted_and_one_miner_is_explained(subnet: Subnet) -> None:
    do = begun(subnet, "--rules", "skills@1.2.0", miners=range(3))
    do("round", "close", subnet.lines(record("t1", "hk-1"), record("t2", "hk-2")))
    lines = do("weights", "--explain", "hk-1").out.splitlines()
    assert lines[:3] == [
        "3 miners with a slot, 2 with a weight",
        "    1 without: average: no score above 0 so far",
        "  uid  weight       uint16",
    ]
    average = next(each for each in lines if each.startswith("  average = average"))
    assert average == "  average = average of score: 0.23, rounded"
    assert lines[-1] == "  weight = cap of part: 0.5, rounded"
    found = do("weights", "--explain", "hk-0", "--json").json()
    assert found["without"] == {"average: no score above 0 so far": 1}
    assert found["explanation"]["without"] == "average: no score above 0 so far"
    assert do("weights", "--explain", "nobody").status == 2
    said = subnet.folder / "round.json"
    said.write_text('{"format": 1, "round": {"salt": "x"}}')
    refused = do("weights", "--round", said)
    assert refused.status != 0
    assert "salt" in refused.err


def test_pools_give_one_vector_before_those_of_the_lines(subnet: Subnet) -> None:
    lines = ("--rules", "skills@1.2.0", "--rules", "workflow@1.1.0")
    pools = ("--pool", "skills=0.7", "--pool", "workflow=0.3")
    do = begun(subnet, *lines, *pools, miners=range(2), types=f"{PYTHON},workflow")
    do("round", "close", subnet.lines(record("t1", "hk-1")))
    found = do("weights", "--json").json()
    assert (found["uids"], found["weights"]) == ([1], ["1.000000000"])
    assert found["lines"]["workflow"]["uids"] == []
    assert do("weights").out.splitlines()[0] == "all lines:"
    assert "lines" not in do("weights", "--line", "skills", "--json").json()


def test_what_rounds_to_nothing_is_left_out_of_all_three_and_told(subnet: Subnet) -> None:
    """1e-6 of the largest weight is 0.07 of a unit."""
    lines = [record("t3", round=1), record("t4", "hk-2", round=1, consensus=0.000001)]
    subnet.do("round", "close", subnet.lines(*lines))
    reason = (
        "its share 0.000001000 is at most half of 1/65535 of the largest, 0.999999000: "
        "uint16 rounds it to 0"
    )
    assert subnet.do("weights", "--json").json() == {
        "uids": [1],
        "weights": ["0.999999000"],
        "uint16": [65535],
        "dropped": {"2": reason},
    }
    assert subnet.do("weights").out.splitlines() == [
        "  uid  weight       uint16",
        "    1  0.999999000  65535",
        "  sum  0.999999000",
        f"    2  no weight: {reason}",
    ]


def test_a_table_for_people(subnet: Subnet) -> None:
    assert subnet.do("weights").out.splitlines() == [
        "  uid  weight       uint16",
        "    1  0.666666667  65535",
        "    2  0.333333333  32767",
        "  sum  1.000000000",
    ]


def shares_of(subnet: Subnet, step: str, *steps: str) -> Path:
    """Write rules of workflows whose shares are of another step, the last of some before them."""
    text = (ROOT / "rules/workflow/1.0.0.toml").read_text(encoding="utf-8")
    part = '  { name = "part"'
    text = text.replace(part, "".join(steps) + part).replace('"mean", zero', f'"{step}", zero')
    path = subnet.folder / "rules.toml"
    path.write_text(text.replace("share = 0.15", "share = 1"), encoding="utf-8")
    return path


def test_a_miner_that_warms_up_under_a_rule_set_that_says_so(subnet: Subnet) -> None:
    """Five of the twenty tasks that it takes: a quarter of what the other has, 0.2 and 0.8."""
    text = (ROOT / "rules/workflow/1.0.0.toml").read_text(encoding="utf-8")
    # the comments of the file have the steps that it leaves off
    _, *warm = re.findall(r"^# (  \{ name = .*\n)", text, re.MULTILINE)
    rules = shares_of(subnet, "warm", *warm)
    do = begun(subnet, "--rules", rules, miners=(1, 2), types="workflow")
    lines = [task(n, f"hk-{uid}", 0.9) for uid in (1, 2) for n in range(5)]
    assert do("round", "close", subnet.lines(*lines)).status == 0
    assert do("weights", "--json").json()["weights"] == ["0.500000000", "0.500000000"]
    assert do("weights", "--json", "--immune", "hk-2").json() == {
        "uids": [1, 2],
        "weights": ["0.800000000", "0.200000000"],
        "uint16": [65535, 16384],
    }


def of_workflows(subnet: Subnet, rules: str | Path, miners: int) -> list[str]:
    """Output of `weights` for miners who did the same under rules of workflows."""
    do = begun(subnet, "--rules", rules, miners=range(miners), types="workflow")
    lines = subnet.lines(*(task(uid, f"hk-{uid}", 0.9) for uid in range(miners)))
    assert do("round", "close", lines).status == 0
    return do("weights").out.splitlines()


def test_a_cap_that_so_few_miners_cannot_hold_is_told(subnet: Subnet) -> None:
    note = "weight: cap 0.15 cannot hold for 6 miners: equal shares"
    lines = of_workflows(subnet, "workflow@1.2.0", 6)
    assert lines[-2:] == ["  sum  1.000000002, of weights that are rounded one by one", note]


def test_where_a_filter_leaves_nobody_it_is_named(subnet: Subnet) -> None:
    kept = '  { name = "kept", do = "filter", of = "mean", above = 0.99 },\n'
    assert of_workflows(subnet, shares_of(subnet, "kept", kept), 2) == [
        "2 miners with a slot, 0 with a weight",
        "    2 without: kept: mean is not above 0.99",
        "no weights: kept: mean is not above 0.99 (2 miners)",
    ]
