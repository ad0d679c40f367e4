"""Three validators in processes of their own end with one state, whoever is killed, late or cut."""

import json
import random
import time
from pathlib import Path

import pytest
from validator.scenario.story import RECORDS, Story, kills
from validator.scenario.subnets import subnet


@pytest.mark.nightly
@pytest.mark.parametrize("commit_reveal", [False, True], ids=["open rows", "committed rows"])
def test_thirty_epochs_with_kills_end_in_one_state(tmp_path: Path, commit_reveal: bool) -> None:
    chance, epochs, begun = random.Random(f"scenario {commit_reveal}"), 30, time.monotonic()
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
        told = story.check(epochs)
    (tmp_path / "told.json").write_text(
        json.dumps({**told, "seconds": round(time.monotonic() - begun)})
    )


def test_three_epochs_with_kills_end_in_one_state(tmp_path: Path) -> None:
    chance = random.Random("short")
    with subnet(tmp_path) as made:
        story = Story(made, chance, kills(chance, range(2), 3, 3), again=0)
        story.run(3, flush=1)
        assert story.check(3)["records"] == 3 * 3 * RECORDS
