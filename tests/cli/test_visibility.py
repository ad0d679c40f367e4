"""What a miner is told of a state, as the rule set says; the operator sees all of it."""

from pathlib import Path

import pytest
from cli.stores import Subnet
from examples import fast_rows
from state.subnet import begun, record
from state.variants import put, variant

PYTHON = "executable_python"
OWN = {"reputation": "reputation", "rank": "rank", "dispatched_rounds": "rounds_24h"}
"""What a rule set may show a miner, and the key of the JSON that has it."""
SUBSETS = [(), *((name,) for name in OWN), (*OWN,)]


def under(
    tmp_path: Path, own: tuple[str, ...], public: tuple[str, ...] = ("leaderboards",)
) -> Subnet:
    """A small subnet whose rule set shows this much."""
    words = {"own": [*own], "public": [*public]}
    changes = (put(shown, "reputation", "visibility", key) for key, shown in words.items())
    path = variant(tmp_path, "skills@1.2.0", "1.2.9", *changes)
    subnet = Subnet(tmp_path / "s.db", tmp_path)
    begun(subnet.where, path, ("hk-1", "hk-2")).close()
    subnet.do("round", "close", subnet.lines(record("t1"), record("t2", "hk-2", consensus=0.5)))
    subnet.do("epoch", "close", "--epoch", "0")
    return subnet


@pytest.mark.parametrize("own", fast_rows(map(pytest.param, SUBSETS), 0, 4), ids="+".join)
def test_a_miner_sees_of_itself_what_the_rule_set_says(
    tmp_path: Path, own: tuple[str, ...]
) -> None:
    subnet = under(tmp_path, own)
    whole = subnet.do("state", "show", "hk-1", "--json").json()
    assert whole.keys() >= {"hotkey", "epoch", *OWN.values()}
    seen = subnet.do("state", "show", "hk-1", "--as", "hk-1", "--json").json()
    shown = {"hotkey", "epoch", *(OWN[name] for name in own)}
    shown |= {"rounds_counted"} if "dispatched_rounds" in own else set()
    assert seen == {key: value for key, value in whole.items() if key in shown}
    assert subnet.do("state", "show", "--as", "hk-1", "--json").json() == seen
    text = subnet.do("state", "show", "--as", "hk-1").out
    for name, sign in (
        ("reputation", whole["reputation"][PYTHON]),
        ("rank", "rank 1"),
        ("dispatched_rounds", "dispatched in 1 round in all"),
    ):
        assert (sign in text) is (name in own)
        assert sign in subnet.do("state", "show", "hk-1").out


def test_a_miner_sees_no_other_miner(tmp_path: Path) -> None:
    subnet = under(tmp_path, (*OWN,))
    found = subnet.do("state", "show", "hk-2", "--as", "hk-1")
    assert (found.status, found.out) == (2, "")
    assert "expected the hotkey of the same miner" in found.err
    found = subnet.do("state", "show")
    assert found.status == 2
    assert "--as HOTKEY" in found.err


@pytest.mark.parametrize("public", [(), ("leaderboards",)])
def test_a_leaderboard_is_shown_to_all_where_it_is_public(
    tmp_path: Path, public: tuple[str, ...]
) -> None:
    subnet = under(tmp_path, (), public)
    board = subnet.do("state", "board", PYTHON, "--json")
    assert [each["hotkey"] for each in board.json()["board"]] == ["hk-1", "hk-2"]
    found = subnet.do("state", "board", PYTHON, "--as", "hk-1", "--json")
    if public:
        assert found == board
    else:
        assert found.status == 2
        assert "makes nothing public, expected leaderboards" in found.err
