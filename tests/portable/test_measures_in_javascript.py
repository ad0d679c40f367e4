"""An interpreter in JavaScript gives the rows of records with measures, byte for byte."""

import json
from pathlib import Path

import pytest
from portable.javascript import node, shown_of
from scoring import parcels
from scoring.parcels import GROUPS, TEXT
from scoring.test_measures import random_parcels

from tallystick.plugins.author import axis, unrounded

THIRD = """
[axes.third]
formula = "parcels/third@1"

[axes.more]
formula = "parcels/more@1"
part = 0.5
"""


@pytest.mark.nightly
@pytest.mark.parametrize("groups", ["", GROUPS])
def test_rows_with_measures_have_the_bytes_of_the_engine(groups: str, tmp_path: Path) -> None:
    third = axis("parcels/third@1")(lambda _p: parcels.sent / 150)
    more = axis("parcels/more@1", part=(0, 1))(lambda p: unrounded("third") * p.part)
    text = TEXT.replace('["care"]', '["more", "care", "third"]') + THIRD + groups
    scorer = parcels.load(tmp_path, text, further=(third, more))
    lines = [json.dumps(each) for each in random_parcels(9, 200)]
    asked = {"shown": shown_of(scorer), "lines": lines}
    rows = [scorer.score(line, line=number).to_json() for number, line in enumerate(lines, 1)]
    assert node("score_measures.js", asked) == rows
