"""What a candidate does to incentive, dividends and trust while only some validators adopt it."""

import json
import re
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from cli.command import Finished
from cli.command import run as command
from examples import fast_rows
from governance.backtest.histories import network
from oracle.yuma import epoch
from third_party.real_projects import rules as of_a_stranger

import tallystick
from tallystick.errors import InputError, YumaError
from tallystick.numbers.nano import NANO, round_half_even
from tallystick.plugins.registry import installed
from tallystick_conformance.testing.history import history_of
from tallystick_governance.backtest.incentive import (
    EPOCHS,
    NO_WEIGHTS,
    Incentives,
    Network,
    Weighed,
    incentives,
    weighed_under,
)
from tallystick_governance.backtest.outcome import UNKNOWN, MinerTotals
from tallystick_governance.backtest.text import warnings

BEFORE, AFTER = (40, 20, 40), (20, 40, 40)
"""What three miners have: the candidate turns two of them around."""
STAKES = (34, 33, 20, 13)
ONE = 1 << 32


def effect_of(
    given: Network, before: tuple[int, ...] = BEFORE, after: tuple[int, ...] = AFTER
) -> Incentives:
    """The effect of other weights of miners on a network."""
    miners = [MinerTotals(f"5Miner{uid}", uid) for uid in range(len(before))]
    keys = [each.hotkey for each in miners]
    old, new = (Weighed(dict(zip(keys, each, strict=True))) for each in (before, after))
    return incentives(miners, old, new, given)


def found(*stakes: int) -> Incentives:
    return effect_of(network(*(stakes or STAKES)))


def nano(raw: list[int]) -> tuple[int, ...]:
    return tuple(round_half_even(x * NANO, ONE) for x in raw)


@pytest.mark.nightly
def test_the_fewest_largest_validators_adopt() -> None:
    counts = [(each.name, each.adopting, each.stake) for each in found().scenarios]
    assert counts == [
        ("none", 0, 0),
        ("one", 1, 340_000_000),
        ("half", 2, 670_000_000),
        ("two thirds", 2, 670_000_000),
        ("all", 4, NANO),
    ]
    assert [each.adopting for each in found(50, 50).scenarios] == [0, 1, 1, 2, 2]
    assert [each.adopting for each in found(2, 1).scenarios] == [0, 1, 1, 1, 2]
    assert [each.adopting for each in found(5).scenarios] == [0, 1, 1, 1, 1]


@pytest.mark.parametrize("adopting", fast_rows([0, 1, 2, 4], 0, 2))
def test_a_scenario_is_that_of_plain_integers(adopting: int) -> None:
    """All of it, dividends over every epoch, by a case that another program computes."""
    rows = [[4 + j, round_half_even(x * 65535, 40)] for j, x in enumerate(BEFORE)]
    new = [[4 + j, round_half_even(x * 65535, 40)] for j, x in enumerate(AFTER)]
    given = {
        "n": 7,
        "block": 1000,
        "emission": 1,
        "last_update": [1000] * 7,
        "registered": [0] * 7,
        "alpha": [*STAKES, 0, 0, 0],
        "permits": [True] * 4,
        "weights": [new] * adopting + [rows] * (4 - adopting) + [[]] * 3,
        "bonds": [[]] * 7,
    }
    outputs = [epoch({"yuma3": True}, given)]
    while len(outputs) < EPOCHS:
        outputs.append(epoch({"yuma3": True}, given | {"bonds": outputs[-1]["bonds"]}))
    scenario = next(each for each in found().scenarios if each.adopting == adopting)
    first, last = outputs[0]["raw"], outputs[-1]["raw"]
    assert scenario.consensus == nano(first["consensus"][4:])
    assert scenario.incentive == nano(first["incentive"][4:])
    assert scenario.trust == nano(first["validator_trust"][:4])
    assert scenario.first_dividends == nano(first["dividends"][:4])
    assert scenario.dividends == nano(last["dividends"][:4])


def test_kappa_flips_with_the_majority_of_stake() -> None:
    """By hand: 0.34 of the stake change no consensus, 0.67 change it, and the others lose trust."""
    effect = found()
    assert effect.changing == (0, 1)
    assert [effect.flipped(each) for each in effect.scenarios] == [0, 0, 2, 2, 2]
    assert [each.adopting for each in effect.flips] == [2]
    nobody, one, half, _, every = effect.scenarios
    # weights are 0.4, 0.2, 0.4; what is above the consensus of the others is cut off
    assert one.consensus == nobody.consensus
    assert [round(x / NANO, 3) for x in one.trust] == [0.8, 1.0, 1.0, 1.0]
    assert [round(x / NANO, 3) for x in half.trust] == [1.0, 1.0, 0.8, 0.8]
    assert half.consensus == every.consensus
    assert effect.gained(one) < 0 < effect.gained(half)
    assert effect.moved(every) == pytest.approx(0.2 * NANO, rel=1e-4)
    assert effect.moved(nobody) == 0


def test_a_minority_never_flips_it_and_a_higher_kappa_needs_more() -> None:
    assert not found(40, 1, 1).flips[1:]
    tall = network(*STAKES)
    strict = Network(tall.validators, 0, type(tall.parameters)(yuma3=True, kappa=52428))
    # with kappa 0.8 a weight counts that 0.8 of the stake give at least: 0.67 raise none
    effect = effect_of(strict)
    assert [effect.flipped(each) for each in effect.scenarios] == [0, 1, 1, 1, 2]


def test_a_candidate_that_changes_nothing_flips_nothing() -> None:
    effect = effect_of(network(*STAKES), BEFORE, BEFORE)
    assert (effect.changing, effect.flips, effect.most_changed(5)) == ((), (), ())
    assert {effect.moved(each) for each in effect.scenarios} == {0}
    assert {each.trust for each in effect.scenarios} == {effect.nobody.trust}


def test_nobody_who_earns_is_no_failure() -> None:
    effect = effect_of(network(*STAKES), (0, 0, 0), (0, 0, 0))
    assert set(effect.nobody.incentive) == {0}
    reason = "no record has an emission or a quality above 0"
    assert effect.unweighed == (reason, reason)
    found = list(warnings(effect))
    assert [code for code, _ in found] == [NO_WEIGHTS] * 2
    assert found[1][1] == f"Under the candidate nobody has a weight, so nobody earns: {reason}."


def test_what_burns_is_a_part_of_the_incentive() -> None:
    """Half of the candidate's weights go to a slot and a hotkey that are no miners."""
    miners = [MinerTotals("5A", 3), MinerTotals("5B", 4)]
    before = Weighed({"5A": 1, "5B": 1})
    after = Weighed({"5A": 100, "5B": 100, "uid:7": 150, "5Burn": 50})
    effect = incentives(miners, before, after, network(*STAKES))
    assert [(each.hotkey, each.uid) for each in effect.miners[2:]] == [
        ("5Burn", UNKNOWN),
        ("uid:7", 7),
    ]
    assert [round(x / NANO, 3) for x in effect.nobody.incentive] == [0.5, 0.5, 0, 0]
    last = effect.scenarios[-1]
    assert [round(x / NANO, 3) for x in last.incentive] == [0.25, 0.25, 0.125, 0.375]
    assert effect.moved(last) == pytest.approx(0.5 * NANO, rel=1e-4)
    assert effect.unweighed == ("", "")


@pytest.mark.nightly
def test_why_a_rule_set_gives_nobody_a_weight_is_told() -> None:
    """Who gets a share of phylax@1.0.0 is told of each round, which no history says."""
    miners = [MinerTotals("5A", 0), MinerTotals("5B", 1)]
    found = weighed_under(of_a_stranger("phylax"), miners, (2, 1))
    assert not found.weights
    assert found.reason.startswith("round.share of the round: found none, expected a number")
    # its weights come of no one column, so they are in proportion
    assert weighed_under(of_a_stranger("chutes"), miners, (2, 1)).weights == {"5A": 2, "5B": 1}


@pytest.mark.parametrize(("miners", "validators"), [(32764, 4), (17000, 1000)])
def test_more_than_a_subnet_has_is_refused(miners: int, validators: int) -> None:
    told = f"found {miners} miners and {validators} validators, expected at most 32767 in all"
    many = (1,) * miners
    with pytest.raises(InputError, match=told):
        effect_of(network(*(1,) * validators), many, many)


def test_weights_are_shared_and_capped_as_the_rules_say() -> None:
    amounts = (8000, 4000, 2000, 2000, 1000, 1000, 1000, 1000, 0)
    miners = [MinerTotals(f"5Miner{uid}", uid) for uid in range(len(amounts))]
    found = weighed_under(tallystick.load("workflow@1.1.0"), miners, amounts)
    weights = [found.weights.get(miner.hotkey, 0) for miner in miners]
    # no weight is above 0.15: what is, goes to the others in proportion
    assert weights == [part * NANO // 100 for part in (15, 15, 15, 15, 10, 10, 10, 10, 0)]
    assert not found.reason


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("history") / "records.jsonl"
    types = [installed().skill_types[name] for name in tallystick.load("skills@1.1.0").types]
    network = {"miners": 12, "validators": 3, "epochs": 4, "rounds": 2}
    path.write_bytes(b"".join(history_of(3, types, **network).lines(400)))
    return path


@pytest.fixture
def validators(tmp_path: Path) -> Path:
    path = tmp_path / "validators.csv"
    path.write_text("hotkey,stake\n5C,20\n5A,34\n5D,13\n5B,33\n")
    return path


def run(history: Path, *words: str | Path) -> Finished:
    rules = ("--rules", "skills@1.0.0", "--rules", "skills@1.1.0", "--bootstrap", "0")
    return command("backtest", history, *rules, *words)


@pytest.mark.usefixtures("undrawn")
def test_a_back_test_says_what_validators_make_of_it(
    history: Path, validators: Path, tmp_path: Path
) -> None:
    path = tmp_path / "subnet.json"
    path.write_text('{"tempo": 99}')
    done = run(history, "--validators", validators, "--yuma", path, "-o", tmp_path / "out")
    assert done.status == 0, done.err
    assert re.search(r"half +adopts  67.00 % of the stake: .* of the incentive moves", done.out)
    assert done.out.count("warning kappa-flip: With 2 validators") == 1
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert f"--validators {validators} --yuma {path}" in summary["command"]
    told = summary["candidates"][0]["incentives"]
    assert (told["validators"], told["epochs"], told["without_permit"]) == (4, 50, 0)
    assert [each["name"] for each in told["scenarios"]] == [
        "none",
        "one",
        "half",
        "two thirds",
        "all",
    ]
    assert (told["parameters"]["tempo"], told["parameters"]["yuma3"]) == (99, True)
    assert told["scenarios"][2]["stake"] == "0.670000000"
    assert told["scenarios"][0]["least_trust_adopting"] is None
    assert [each["code"] for each in told["warnings"]] == ["kappa-flip"]
    miners = pq.read_table(tmp_path / "out" / "incentives.parquet").to_pylist()
    rows = [each for each in miners if each["scenario"] == "all"]
    assert len(miners) == 5 * len(rows) > 0
    moved = sum(abs(each["incentive_change"]) for each in rows) / 2
    assert float(moved) == pytest.approx(float(told["scenarios"][4]["incentive_moved"]), abs=1e-8)
    paid = pq.read_table(tmp_path / "out" / "dividends.parquet").to_pylist()
    half = [each for each in paid if each["scenario"] == "half"]
    assert [each["validator_hotkey"] for each in half] == ["5A", "5B", "5C", "5D"]
    assert [each["adopts"] for each in half] == [True, True, False, False]
    page = (tmp_path / "out" / "report.html").read_text()
    assert page.count("While only some validators") == 1
    assert "With 2 validators, who have 67.00 % of the stake" in page
    assert "incentives.parquet" in page


def test_the_parameters_of_the_subnet_can_be_given(validators: Path, tmp_path: Path) -> None:
    path = tmp_path / "subnet.json"
    path.write_text('{"kappa": 65535, "yuma3": false, "max_validators": 3}')
    given = Network.of(validators, path)
    assert [each.hotkey for each in given.validators] == ["5A", "5B", "5C"]
    assert given.without_permit == 1
    assert (given.parameters.kappa, given.parameters.yuma3) == (65535, False)
    usual = Network.of(validators).parameters
    assert (usual.kappa, usual.yuma3, usual.liquid_alpha) == (32767, True, False)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"kapa": 1}', "kapa: found an unknown key"),
        ("[]", "found [], expected an object"),
        ('{"max_validators": 0}', "found max_validators 0"),
        ('{"owner_uid": 60000}', "owner_uid: found 60000, expected none, as a list of validators"),
    ],
)
def test_wrong_parameters_are_told_by_file_and_key(
    text: str, message: str, validators: Path, tmp_path: Path
) -> None:
    path = tmp_path / "subnet.json"
    path.write_text(text)
    with pytest.raises((InputError, YumaError)) as caught:
        Network.of(validators, path)
    assert "subnet.json" in str(caught.value)
    assert message in str(caught.value)


def test_a_wrong_list_leaves_nothing(history: Path, tmp_path: Path) -> None:
    path = tmp_path / "validators.csv"
    path.write_text("hotkey,stake\n5A,1\n5A,2\n")
    done = run(history, "--validators", path, "-o", tmp_path / "out")
    assert done.status == 2
    assert f'{path}:3: found "5A" again, expected it once' in done.err
    assert not (tmp_path / "out").exists()
