"""Records scored by roots, powers, exp and log: alone, in a batch, explained, or refused."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from decimal import ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from governance.prove.sample import MEAN, essay, sample, style, words

from tallystick.errors import FormulaError, RecordError, RuleSetError
from tallystick.plugins.author import (
    UNIT,
    Formula,
    Node,
    Parameters,
    axis,
    cases,
    clip,
    exp,
    factor,
    floor,
    given,
    label,
    log,
    measure,
    places,
    power,
    require,
    root,
    threshold,
)
from tallystick.scoring.result import Result
from tallystick.scoring.scorer import Scorer

EXACT = Context(prec=60)


def scorer_of(folder: Path, tree: Node, parameters: str = "", **ranges: Any) -> Scorer:  # noqa: ANN401  # of any number
    def function(p: Parameters) -> Node:
        """An axis of the test."""
        return power(tree, p.curve) if ranges else tree

    made: Formula = axis("sample/made@1", **ranges)(function)
    return sample(folder, style="made", parameters=parameters, further=(made,))


ROOT = root(style, 2)


def test_a_value_is_the_nearest_nano_alone_in_a_batch_and_explained(tmp_path: Path) -> None:
    scorer = scorer_of(tmp_path, ROOT)
    styles = [0, 1, 0.25, *(n / 997 for n in range(200))]
    lines = [json.dumps(essay(i, style=each)).encode() for i, each in enumerate(styles)]
    batch = [result.axes["style"] for result in scorer.score_lines(lines).results()]
    alone = [scorer.score(line).axes["style"] for line in lines]
    wanted = [
        EXACT.sqrt(Decimal(round(each * 1e9)).scaleb(-9)).quantize(
            Decimal("1e-9"), ROUND_HALF_EVEN, EXACT
        )
        for each in styles
    ]
    assert batch == alone == wanted
    (step,) = [each for each in scorer.explain(lines[7]).axes if each.name == "style"]
    assert step.text == ("style = √style",)
    assert step.exact.endswith("…")
    assert step.exact.startswith(str(wanted[7])[:9])


UNDECIDED = cases(
    (root(1 + words + 2 * root(words, 2), 2) > 1 + root(words, 2), 1), otherwise=Fraction(1, 2)
)
"""√(1 + w + 2·√w) is 1 + √w: only where w is a square can that be seen."""


def test_a_record_that_is_undecided_is_rejected_and_the_others_are_scored(tmp_path: Path) -> None:
    scorer = scorer_of(tmp_path, UNDECIDED)
    records = [essay(number, words=number) for number in (1, 2, 3, 4, 9)]
    source, output = tmp_path / "records.jsonl", tmp_path / "results.jsonl"
    source.write_text("".join(json.dumps(each) + "\n" for each in records))
    receipt = scorer.score_file(source, output)
    assert (receipt.counts.scored, receipt.counts.rejected) == (3, 2)
    assert receipt.counts.internal_errors == 0
    assert [json.loads(line)["record"] for line in output.read_text().splitlines()] == [1, 4, 5]
    (rejects,) = tmp_path.glob("*rejects*")
    found = [json.loads(line) for line in rejects.read_text().splitlines()]
    assert [(each["line"], each["code"], each["path"], each["value"]) for each in found] == [
        (2, "undecided", "style", "sample/made@1"),
        (3, "undecided", "style", "sample/made@1"),
    ]
    for use in (scorer.score, scorer.explain):
        with pytest.raises(RecordError, match="8192 bits do not tell apart") as caught:
            use(records[1])
        assert (caught.value.code, caught.value.path) == ("undecided", "style")


@pytest.mark.parametrize(
    ("tree", "said"),
    [
        (root(style - 1, 2), r"a power of style − 1, which can be below 0 .* \(range -1 to 0\)"),
        (power(words, -1), "a power of words, which can be 0 where it is reached"),
        (power(words, 0), "a power of words, which can be 0"),
        (log(style), "the logarithm of style, which can be 0"),
        (log(style - 2), "the logarithm of style − 2, which can be 0 or below"),
        (log(0 * style), "the logarithm of 0 · style, which can be 0"),
        (exp(10**6 + style), "exp of 1000000 [+] style, which can be outside -1000000 to 40"),
        (1 / (root(words, 2) - 3), "a division by √words − 3, which can be 0"),
        (1 / floor(style), "a division by ⌊style⌋, which can be 0"),
        (1 + root(style, 2), "it can be from 1 to 2, expected 0 to 1"),
        (exp(-style) - 1, "it can be from -0.63.* to 0, expected 0 to 1"),
    ],
)
def test_what_is_outside_a_domain_is_refused_when_the_rule_set_is_loaded(
    tmp_path: Path, tree: Node, said: str
) -> None:
    with pytest.raises(RuleSetError, match=said) as caught:
        scorer_of(tmp_path, tree)
    assert str(caught.value).startswith(f"{tmp_path / 'sample.toml'}:")
    assert "axes.style" in str(caught.value)


MEASURED = f"""{MEAN.format("arithmetic")}measures = ["made"]

[measures.made]
formula = "sample/made@1"
"""


def test_where_a_measure_does_not_apply_nothing_is_undecided(tmp_path: Path) -> None:
    made: Formula = measure("sample/made@1", within=UNIT, applies=words > 3)(lambda _: UNDECIDED)
    scorer = sample(tmp_path, composite=MEASURED, further=(made,))
    lines = [json.dumps(essay(n, words=n)).encode() for n in (1, 2, 3, 4, 5, 9)]
    batch = scorer.score_lines(lines)
    assert [(each.line, each.code) for each in batch.rejects] == [(5, "undecided")]
    alone = [each for each in scorer.score_many(lines) if isinstance(each, Result)]
    for results in (alone, batch.results()):
        found = [None if each.measures is None else each.measures["made"] for each in results]
        assert found == [None, None, None, Decimal("0.5"), Decimal("0.5")]


@pytest.mark.parametrize(
    "write",
    [
        lambda: power(power(power(style, 100), 100), 2),
        lambda: (power(style, 100) ** 8) ** 8 * power(power(style, 100), 40),
        lambda: power(power(words, 99) / (1 + power(words, 99)), 99),
    ],
)
def test_powers_of_powers_are_refused_before_they_fill_the_memory(
    write: Callable[[], object],
) -> None:
    with pytest.raises(FormulaError, match=r"powers that are of degree .* at most 10000"):
        write()


def test_a_number_of_thousands_of_digits_is_told_shortly(tmp_path: Path) -> None:
    longest = power(power(words, 100), 99)
    with pytest.raises(RuleSetError, match=r"it can be from 0 to 10{24,29}…e[0-9]{5}, expec"):
        scorer_of(tmp_path, longest)
    scorer = scorer_of(tmp_path, clip(label("longest", longest) / 7))
    (step,) = [each for each in scorer.explain(essay(1, words=9)).axes if each.name == "style"]
    assert re.fullmatch(r"[0-9]{24,29}…e94[0-9]{2}", step.intermediates["longest"])
    assert step.exact == "1"


@pytest.mark.parametrize(
    ("curve", "said"),
    [
        ("1.01", "101/100 of the parameter curve, expected p/q with p and q of at most 100"),
        ("0.333", "333/1000 of the parameter curve"),
    ],
)
def test_an_exponent_that_is_too_fine_is_refused(tmp_path: Path, curve: str, said: str) -> None:
    with pytest.raises(RuleSetError, match=said):
        scorer_of(tmp_path, style, f"curve = {curve}", curve=(0, 2))
    assert scorer_of(tmp_path, style, "curve = 1.3", curve=(0, 2))


@pytest.mark.parametrize(
    "write",
    [
        lambda: power(style, words),
        lambda: power(style, Fraction(1, 101)),
        lambda: root(style, 0),
        lambda: root(style, 101),
        lambda: root(style, Fraction(1, 2)),
        lambda: places(style, 10),
        lambda: places(style, -1),
        lambda: require(root(style, 2) < 1, "rooted", path="checks", expected="less"),
        lambda: factor("sample/f@1", within=(0, 1), applies=exp(style) > 1),
        lambda: threshold("sample/t@1", within=(0, 1))(lambda _: root(given("x") * 1, 2)),
    ],
)
def test_what_no_formula_may_have_is_refused_while_it_is_written(
    write: Callable[[], object],
) -> None:
    with pytest.raises(FormulaError, match="found"):
        write()
