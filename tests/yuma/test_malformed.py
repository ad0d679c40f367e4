"""A case that no chain can have is refused whole, by its name and the path."""

import copy
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from yuma.nets import large_net

import tallystick
from tallystick.errors import YumaError
from tallystick_yuma import cases, vectors
from tallystick_yuma.cases import parameters_of
from tallystick_yuma.vectors import check

Json = dict[str, Any]
CASE = {"name": "mine", **large_net(2, 3, liquid=True)}
CASE["steps"].append(
    {"input": {k: v for k, v in CASE["steps"][0]["input"].items() if k not in {"weights", "bonds"}}}
)


def at(path: str) -> Callable[[Json, Any], None]:
    """Sets what a path of keys leads to."""

    def change(case: Json, value: Any) -> None:  # noqa: ANN401  # any JSON value
        *steps, last = (int(key) if key.isdigit() else key for key in path.split("/"))
        for key in steps:
            case = case[key]
        case[last] = value

    return change


INPUT = "steps/0/input/"
MISTAKES = [
    ("steps", [], "steps: found [], expected a list of length >= 1"),
    ("steps", {}, "steps: found {}, expected a list"),
    ("steps/0", {}, "steps[0].input: found nothing"),
    ("extra", 1, "extra: found an unknown key"),
    ("params/kapa", 1, "params.kapa: found an unknown key"),
    (f"{INPUT}n", 0, "steps[0].input.n: found 0, expected a whole number >= 1"),
    (f"{INPUT}n", 32768, "steps[0].input.n: found 32768, expected a whole number <= 32767"),
    (f"{INPUT}n", 6, "steps[0].input.registered: found 5 entries, expected 6"),
    (f"{INPUT}n", True, "steps[0].input.n: found true, expected a whole number"),
    (f"{INPUT}n", 5.5, "steps[0].input.n: found 5.5, expected a whole number"),
    (f"{INPUT}alpha/1", -1, "steps[0].input.alpha[1]: found -1, expected a whole number >= 0"),
    (f"{INPUT}alpha/1", 1 << 64, f"alpha[1]: found {1 << 64}, expected at most {(1 << 64) - 1}"),
    (f"{INPUT}alpha/1", (1 << 64) - 1, "in all, expected at most 9223372036854775807"),
    (f"{INPUT}alpha/1", "5", 'steps[0].input.alpha[1]: found "5", expected a whole number'),
    (f"{INPUT}alpha", [1, 2], "steps[0].input.alpha: found 2 entries, expected 5"),
    (f"{INPUT}last_update", None, "last_update: found null, expected a list"),
    (f"{INPUT}tao", [1 << 63, 0, 0, 0, 0], f"tao: found a stake of {1 << 63}, expected at most"),
    (f"{INPUT}permits", [True] * 6, "permits: found 6 entries, expected at most 5"),
    (f"{INPUT}permits/0", 1, "permits[0]: found 1, expected true or false"),
    (f"{INPUT}weights", [[]], "weights: found 1 entries, expected 5"),
    (f"{INPUT}weights/1/0", [5, 1], "weights[1][0]: found uid 5, expected a uid below n"),
    (f"{INPUT}weights/1/2", [2, 1], "weights[1][2]: found uid 2, expected each uid once"),
    (f"{INPUT}weights/1/0/1", 65536, "weights[1][0][1]: found 65536, expected a whole number <="),
    (f"{INPUT}weights/1/0/1", None, "weights[1][0][1]: found null, expected a whole number"),
    (f"{INPUT}weights/1/0", [1, 2, 3], "weights[1][0]: found [1, 2, 3], expected a list of length"),
    (f"{INPUT}bonds/0/0/0", 9, "bonds[0][0]: found uid 9, expected a uid below n, which is 5"),
    (f"{INPUT}owner_uid", 5, "steps[0].input.owner_uid: found uid 5, expected a uid below n"),
    (f"{INPUT}tao", [1], "steps[0].input.tao: found 1 entries, expected 5"),
    (f"{INPUT}commit_blocks", [-1] * 5, "commit_blocks[0]: found -1, expected"),
    (f"{INPUT}activity_cutoff", 1 << 64, "activity_cutoff: found"),
    ("params/kappa", 65536, "params.kappa: found 65536, expected a whole number <= 65535"),
    ("params/yuma3", 1, "params.yuma3: found 1, expected true or false"),
    ("params/bonds_moving_average", 10**6 + 1, "params.bonds_moving_average: found 1000001"),
    ("params/alpha_sigmoid_steepness", 40000, "alpha_sigmoid_steepness: found 40000"),
    ("params/alpha_low", 60000, "alpha_low: found 60000, expected at most alpha_high, which is"),
    ("params", [], "params: found [], expected an object"),
    ("steps/1/input/n", 4, "steps[1].input."),
]


@pytest.mark.parametrize(("path", "value", "message"), MISTAKES, ids=lambda x: str(x)[:40])
def test_a_mistake_is_told_by_case_and_path(path: str, value: object, message: str) -> None:
    case = copy.deepcopy(CASE)
    at(path)(case, value)
    with pytest.raises(YumaError) as caught:
        tallystick.yuma(case)
    assert str(caught.value).startswith("mine: ")
    assert message in str(caught.value)


def test_the_case_without_a_mistake_is_computed() -> None:
    assert len(tallystick.yuma(CASE)["steps"]) == 2


def test_numbers_of_numpy_are_numbers() -> None:
    case = copy.deepcopy(CASE)
    given = case["steps"][0]["input"]
    given["alpha"] = [np.uint64(stake) for stake in given["alpha"]]
    assert tallystick.yuma(case) == tallystick.yuma(CASE)


@pytest.mark.parametrize("value", [{1}, object(), b"5", np.array([1]), 5j])
def test_what_is_no_json_is_told_by_its_path(value: object) -> None:
    case = copy.deepcopy(CASE)
    case["steps"][0]["input"]["alpha"] = value
    with pytest.raises(YumaError, match=r"^mine: steps\[0\].input.alpha"):
        tallystick.yuma(case)


def test_what_holds_itself_is_refused() -> None:
    case = copy.deepcopy(CASE)
    case["params"]["tao"] = case
    with pytest.raises(YumaError, match=r"^mine: "):
        tallystick.yuma(case)


@pytest.mark.parametrize("case", [None, [], 5, "case"])
def test_what_is_no_object_is_no_case(case: Any) -> None:  # noqa: ANN401  # no case
    with pytest.raises(YumaError, match=r"^the case: the case: found .*, expected an object"):
        tallystick.yuma(case)


def test_both_ways_to_say_the_cutoff_are_one_too_many() -> None:
    case = copy.deepcopy(CASE)
    case["params"] |= {"activity_factor": 1000, "activity_cutoff": 360}
    with pytest.raises(YumaError, match="activity_factor: found 1000, expected it or"):
        tallystick.yuma(case)


def test_of_both_ways_the_nearer_holds() -> None:
    """A step says it before its case does, a case before the defaults of a file."""
    case = copy.deepcopy(CASE)
    given = case["steps"][0]["input"]
    last = given["block"] - 1000
    given["last_update"], given["tempo"] = [last] * given["n"], 360
    said = {"activity_cutoff": 1000}, {"activity_factor": 1000}
    for (far, near), active in zip((said, said[::-1]), (False, True), strict=True):
        for levels in (("defaults", "params"), ("params", "input")):
            tried = copy.deepcopy(case)
            places = {"params": tried["params"], "input": tried["steps"][0]["input"]}
            places["defaults"] = tried["defaults"] = {}
            for level, values in zip(levels, (far, near), strict=True):
                places[level] |= values
            assert tallystick.yuma(tried)["steps"][0]["active"] == [active] * given["n"]


def test_root_stake_counts_by_its_weight() -> None:
    """Of u64 it fits as long as what it counts for does."""
    case = copy.deepcopy(CASE)
    given = case["steps"][0]["input"]
    given["tao"] = [(1 << 63) - 1] * given["n"]
    assert tallystick.yuma(case)["steps"][0] == tallystick.yuma(CASE)["steps"][0]
    case["params"]["tao_weight"] = 1 << 63
    with pytest.raises(YumaError, match=r"in all, expected at most 9223372036854775807"):
        tallystick.yuma(case)


def test_the_factor_of_the_tempo_is_a_cutoff() -> None:
    """13889 per mille of 360 blocks are 5000; of 7 blocks 97, and never less than 1."""
    for factor, tempo, cutoff in ((13889, 360, 5000), (13889, 7, 97), (0, 360, 1)):
        found = parameters_of({"activity_factor": factor, "tempo": tempo}, "params.json")
        assert found.activity_cutoff == cutoff


@pytest.mark.parametrize("key", ["weights", "bonds", "permits"])
def test_a_first_step_has_everything(key: str) -> None:
    case = copy.deepcopy(CASE)
    del case["steps"][0]["input"][key]
    with pytest.raises(YumaError, match=rf"mine: steps\[0\].input.{key}: found nothing"):
        tallystick.yuma(case)


def test_what_goes_on_has_as_many_uids() -> None:
    case = copy.deepcopy(CASE)
    given = case["steps"][1]["input"]
    given["n"] = 6
    for key in ("alpha", "registered", "last_update"):
        given[key] = [*given[key], 0]
    with pytest.raises(YumaError, match=r"steps\[1\].input.n: found 6, expected 5, as weights"):
        tallystick.yuma(case)


def test_nothing_of_a_case_changes() -> None:
    case = copy.deepcopy(CASE)
    tallystick.yuma(case)
    assert case == CASE


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "yuma-vectors/2"}, "format: found"),
        ({"cases": {}}, "cases: found {}, expected a list"),
        ({"functions": {"exp": [[]]}}, "functions.exp[0]: found [], expected a list of length 2"),
        ({"functions": {"mul": [[1]]}}, "functions.mul[0]: found [1], expected a list of length 3"),
        ({"functions": {"exp": [[1, 2, 3]]}}, "functions.exp[0]: found [1, 2, 3], expected"),
        ({"functions": {"exp": [[1, 1 << 63]]}}, "functions.exp[0][1]"),
        ({"functions": {"sin": []}}, "functions.sin: found an unknown key"),
        ({"cases": [{"steps": 1}]}, "yuma.json: cases[0]: steps: found 1, expected a list"),
        ({"functions": {"alpha_of": [[0, 0, 0, 0, 1 << 62, 0]]}}, "functions.alpha_of[0][4]"),
        ({"functions": []}, "functions: found [], expected an object"),
        ({"defaults": {"kapa": 1}}, "mine: defaults.kapa: found an unknown key"),
    ],
)
def test_malformed_vectors_are_refused(change: Json, message: str) -> None:
    document = {"format": "yuma-vectors/1", "cases": [CASE], **change}
    with pytest.raises(YumaError) as caught:
        check(document, "yuma.json")
    assert message in str(caught.value)


VALUES = (
    *(None, True, 0, -1, 1.5, 70000, 1 << 31, 1 << 63, 1 << 64, 10**400),
    *("", "5", "x` - at `$.steps[7]", [], {}, [[]], [0, 0], [[0, 0]], {"n": 1}, ["5"] * 5),
)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:  # noqa: ANN401  # any JSON value
    """The path of every part of a JSON value."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    inner = [
        place
        for key, each in items
        for place in ([*places(each, (*path, key))] if isinstance(each, (dict, list)) else [])
    ]
    own = value if isinstance(value, dict) else range(len(value))
    return [*((*path, key) for key in own), *inner]


@pytest.mark.parametrize("number", [300, pytest.param(3_000, marks=pytest.mark.nightly)])
def test_whatever_stands_anywhere_is_computed_or_refused(number: int) -> None:
    """Cases with one or two values that are others, or keys: none fails in another way."""
    draw = random.Random(1)
    every = places(CASE)
    outcomes = Counter[str]()
    for _ in range(number):
        case = copy.deepcopy(CASE)
        for place in draw.sample(every, draw.choice([1, 1, 2])):
            part = case
            try:
                for key in place[:-1]:
                    part = part[key]
                part[draw.choice([place[-1]] * 9 + [f"{place[-1]}`"])] = copy.deepcopy(
                    draw.choice(VALUES)
                )
            except (TypeError, KeyError, IndexError):
                continue  # the other value stands there
        outcome = "computed"
        try:
            tallystick.yuma(case)
        except YumaError:
            outcome = "refused"
        outcomes[outcome] += 1
    assert min(outcomes["computed"], outcomes["refused"]) > 10, outcomes


def test_too_many_weights_are_refused_before_anything_is_computed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given = large_net(8, 8, liquid=False)["steps"][0]["input"]
    many = sum(map(len, given["weights"]))
    monkeypatch.setattr(cases, "MOST_CELLS", many - 1)
    monkeypatch.setattr(cases, "epoch", None)
    with pytest.raises(YumaError, match=rf"weights: found {many} weights, expected at most "):
        tallystick.yuma({"steps": [{"input": given}]})


def test_a_file_of_too_many_lists_is_refused_before_it_is_decoded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "case.json"
    file.write_text("[[],[],[]]", encoding="utf-8")
    monkeypatch.setattr(vectors, "MOST_LISTS", 3)
    monkeypatch.setattr(vectors, "parse", None)
    with pytest.raises(YumaError, match="found 4 lists, expected at most 3: give a file fewer"):
        vectors.read(file)
    file.write_text("1,2,3", encoding="utf-8")
    monkeypatch.setattr(vectors, "MOST_VALUES", 1)
    with pytest.raises(YumaError, match="found 2 values, expected at most 1"):
        vectors.read(file)
