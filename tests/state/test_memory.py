"""Weights with a memory: averages that outlive their round, and the pools of lines.

What an average comes to is that of `tallystick.allocate`: `test_attributes` compares them.
"""

from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path

import pytest
from oracle.decimals import count
from oracle.weights import blended
from state import subnet
from state.subnet import carry_of, record, task, weights_of

import tallystick
from tallystick.json_values import json_value
from tallystick.numbers.nano import NANO, from_decimal
from tallystick_governance.adoption_effect import effect_on
from tallystick_governance.adoption_text import as_text
from tallystick_state.carry import carried_names
from tallystick_state.ledger import Ledger
from tallystick_state.replay import verify
from tallystick_state.rules import state_rules_of

RULES, BEFORE = "skills@1.2.0", "skills@1.1.0"
PYTHON = "executable_python"


def name(number: int) -> str:
    return f"hk-{number:02}"


def begun(place: object, rules: str = RULES, *, miners: int) -> Ledger:
    return subnet.begun(place, rules, [*map(name, range(miners))])


def nano(found: Mapping[str, Fraction]) -> dict[str, int]:
    return {hotkey: count(each) for hotkey, each in found.items()}


def average_of(ledger: Ledger) -> dict[str, int]:
    return carry_of(ledger, "skills").get("average", {})


def test_who_has_no_slot_drops_out_and_begins_anew(where: str) -> None:
    with begun(where, miners=3) as ledger:
        ledger.close_round([record(f"t{n}", name(n)) for n in range(3)])
        ledger.close_epoch()
        kept = average_of(ledger)
        ledger.sync_miners([{"uid": 0, "hotkey": name(0), "types": [PYTHON]}])
        assert {*weights_of(ledger, "skills")} == {name(0)}
        ledger.register(name(1), 1, [PYTHON])
        # within the epoch a slot was only left and taken again
        assert {*weights_of(ledger, "skills")} == {name(0), name(1)}
        ledger.close_epoch()
        assert average_of(ledger) == {h: kept[h] for h in (name(0), name(1))}
        ledger.register(name(2), 2, [PYTHON])
        ledger.close_epoch()
        assert name(2) not in average_of(ledger)


# --------------------------------------------------------------------------------------- adoption


def test_an_average_begins_empty_and_keeps_its_value_when_adopted(
    where: str, tmp_path: Path
) -> None:
    rules = tallystick.load(RULES)
    assert carried_names(state_rules_of(rules)) == ("average",)
    with begun(where, BEFORE, miners=2) as ledger:
        with ledger.queries() as queries:
            effect = effect_on(queries, queries.rules.only().digest, state_rules_of(rules))
        assert effect.begun == ("average",)
        ledger.adopt(RULES, 1)
        ledger.close_round([record(f"t{n}", name(n)) for n in range(2)])
        ledger.close_epoch()
        assert average_of(ledger) == {}
        # the last closed round is of the rules before
        assert {*weights_of(ledger, "skills")} == {name(0), name(1)}
        ledger.close_round([record("t2", name(1), round=1, epoch=1)])
        assert {*weights_of(ledger, "skills")} == {name(1)}
        ledger.close_epoch()
        held = average_of(ledger)
        assert {*held} == {name(1)}
        text = rules.loaded.text.replace("new = 0.2,", "new = 0.5,")
        (tmp_path / "other.toml").write_text(text.replace('= "1.2.0"', '= "1.3.0"', 1))
        ledger.adopt(tmp_path / "other.toml", 3)
        ledger.close_epoch()
        assert average_of(ledger) == held
        with ledger.queries() as queries:
            published = state_rules_of(tallystick.load(BEFORE))
            effect = effect_on(queries, queries.rules.only().digest, published)
        assert effect.dropped == (("average", 1),)
        assert "carried column average: dropped, of 1 miner" in as_text(effect)
        assert json_value(effect)["dropped"] == [["average", 1]]
        ledger.adopt(BEFORE, 4, major=True)
        ledger.close_round([record("t3", name(0), round=3, epoch=3)])
        before = weights_of(ledger, "skills")
        assert {*before} == {name(0), name(1)}
        ledger.close_epoch()
        # gone with the rules that carried it; until a round is closed theirs still give the weights
        assert average_of(ledger) == {}
        assert weights_of(ledger, "skills") == before
        ledger.close_round([record("t4", name(0), round=4, epoch=4)])
        assert {*weights_of(ledger, "skills")} == {name(0)}
        verify(ledger)


# ------------------------------------------------------------------------------------------- pools


@pytest.mark.parametrize(
    ("idle", "burn"), [("proportional", None), ("equal", None), ("burn", 7), ("burn", 1)]
)
def test_lines_come_to_one_vector_by_their_pools(where: str, idle: str, burn: int | None) -> None:
    shares = {"skills": Fraction("0.7"), "workflow": Fraction("0.3")}
    pools = {line: str(float(each)) for line, each in shares.items()}
    rules, types = [RULES, "workflow@1.1.0"], [PYTHON, "workflow"]
    hotkeys = [*map(name, range(9))]
    with subnet.begun(where, rules, hotkeys, types, pools=pools, idle=idle, burn=burn) as ledger:
        for lines in (
            [record(f"t{n}", name(n), latency_ms=30_000 + 4_000 * n) for n in range(5)],
            [task(n, name(n), 0.2 + n / 10, round=1) for n in range(3, 9)],
        ):
            ledger.close_round(lines)
            with ledger.queries() as queries:
                found = queries.shared_weights()
                assert found is not None
                own = {line: queries.line_weights(line).weights for line in shares}
            exactly = {
                line: {h: Fraction(n, NANO) for h, n in each.items()} for line, each in own.items()
            }
            wanted = blended(shares, exactly, idle, "" if burn is None else name(burn))
            slots = {int(hotkey[3:]): each for hotkey, each in nano(wanted).items()}
            published = map(from_decimal, found.weights)
            assert dict(zip(found.uids, published, strict=True)) == dict(sorted(slots.items()))
            assert abs(sum(slots.values()) - NANO) <= len(slots)
        ledger.share({"skills": "0.1", "workflow": "0.9"}, 1, idle="equal")
        ledger.close_epoch()
        with ledger.queries() as queries:
            other = queries.shared_weights()
        assert other is not None
        assert other.weights != found.weights
