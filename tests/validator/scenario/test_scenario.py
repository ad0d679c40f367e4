"""Three validators in processes of their own end with one state, whoever is killed, late or cut."""

import random
from pathlib import Path

import pytest
from validator.scenario.story import RECORDS, Kill, Story, kills
from validator.scenario.subnets import ADOPTED, VOTE_BY, WEIGHTS_AT, subnet

from tallystick_state.ledger import Ledger


@pytest.mark.nightly
# httpx leaves a socket that found nobody to be closed when it is collected
@pytest.mark.filterwarnings("ignore:.*unclosed <socket:ResourceWarning")
@pytest.mark.filterwarnings("ignore:Exception ignored in. <socket")
@pytest.mark.parametrize("commit_reveal", [False, True], ids=["open rows", "committed rows"])
def test_thirty_epochs_with_kills_end_in_one_state(tmp_path: Path, commit_reveal: bool) -> None:
    chance, epochs = random.Random(f"scenario {commit_reveal}"), 30
    with subnet(tmp_path, commit_reveal=commit_reveal) as made:
        story = Story(
            made,
            chance,
            kills(chance, range(1, epochs), 40, 3),
            adopts_at=15,
            late=4,
            cut=range(8, 13),
            away=range(20, 24),
        )
        story.run(epochs)
        story.check(epochs)


KILLS = (
    Kill(0, 0, 0, "publishing, landed", 0, 0),
    Kill(0, VOTE_BY, 1, "closing", 0, 1),
    Kill(0, WEIGHTS_AT, 2, "submitting, landed", 0, 0),
    Kill(1, 5, 2, "pulling", 0, 0),
)
"""Kills at calls of the chain and of a peer, never at a time."""


@pytest.mark.process
def test_two_epochs_with_kills_and_an_adoption_end_in_one_state(tmp_path: Path) -> None:
    with subnet(tmp_path) as made:
        story = Story(made, random.Random("short"), [*KILLS], adopts_at=2, again=0)
        story.run(2, flush=1)
        told = story.check(2)
        assert told["records"] == 2 * 3 * RECORDS
        assert {*told["deaths"]} == {kill.place for kill in KILLS}
        for house in made.houses:
            with Ledger.open(house.folder / "subnet.db") as ledger, ledger.queries() as queries:
                (line,) = queries.in_force.at(2).lines
                assert line.rule_set.reference == ADOPTED
