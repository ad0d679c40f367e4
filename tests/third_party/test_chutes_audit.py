"""``tallystick audit`` of a made-up hour of Chutes: what equality shows, and what it does not."""

from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from cli.command import Finished, message_of, run
from installed import install
from third_party.real_projects import module, project, rules

import tallystick
from tallystick.plugins.entries import ALLOWED
from tallystick.plugins.registry import installed_plugins

RULES, FORMAT = "chutes@1.0.0", "chutes/hour"
NANO = 10**9


@pytest.fixture(autouse=True)
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The plugin is found as an installed one is."""
    install(
        tmp_path / "site",
        "tallystick-chutes",
        plugins={"chutes": "tallystick_chutes.plugin"},
        exports={FORMAT: "tallystick_chutes.export:FORMAT"},
    )
    monkeypatch.syspath_prepend(project("chutes"))
    monkeypatch.syspath_prepend(tmp_path / "site")
    monkeypatch.delenv(ALLOWED, raising=False)
    installed_plugins.cache_clear()
    yield
    installed_plugins.cache_clear()


@pytest.fixture
def hour(tmp_path: Path) -> Path:
    """An export of one hour, whose metagraph says nothing yet."""
    folder = tmp_path / "hour"
    folder.mkdir()
    module("chutes", "made_up").write(folder, 1)
    return folder


def audit(folder: Path, *options: str) -> Finished:
    return run("audit", "folder", folder, "--rules", RULES, "--format", FORMAT, *options)


def publish(folder: Path, incentives: dict[str, str]) -> None:
    """Write what was set, by hotkey, into the metagraph."""
    nodes = list(
        module("chutes", "export")._rows(folder / "metagraph.csv", ("hotkey", "coldkey", "uid"))
    )
    module("chutes", "made_up").publish(
        folder, [each | {"incentive": incentives.get(each["hotkey"], "0")} for each in nodes]
    )


def derived(folder: Path) -> dict[str, str]:
    found: dict[str, str] = audit(folder, "--json").json()["weights"]
    return found


def test_weights_that_follow_from_the_files_are_equal(hour: Path) -> None:
    publish(hour, derived(hour))
    found = audit(hour, "--json")
    said = found.json()
    assert (found.status, said["verdict"], said["largest"]) == (0, "equal", "0")
    assert said["equal"] == len(json.loads(json.dumps(said["weights"]))) + _without_weight(said)
    assert {each["stated"] == each["found"] for each in said["digests"]} == {True}
    assert len(said["digests"]) == 4
    assert said["left_out"] == {"not-reported": 1}
    assert said["dropped"].keys() == {
        "calls of hotkeys off the metagraph",
        "calls of no slot",
        "repeated calls",
        "repeated instances",
    }
    text = audit(hour).out
    shows, open_questions = text.split("this does not show")
    assert "these files are the ones that the chain, report.json states" in shows
    assert "whoever has these files derives these weights" in shows
    assert "are the derived ones, to nine places" in shows
    assert len(open_questions.strip().splitlines()) == 5
    assert "at which instant" in open_questions


def _without_weight(said: Any) -> int:  # noqa: ANN401  # JSON
    """How many of the five miners of the metagraph have no weight."""
    return 5 - len(said["weights"])


def test_the_weights_are_those_of_the_records_by_the_rules(hour: Path) -> None:
    export = module("chutes", "export").read(hour)
    found = rules("chutes").score_many(export.records)
    rows = [each.to_dict() for each in found if isinstance(each, tallystick.Result)]
    assert len(rows) == len(export.records) - 1
    done = tallystick.allocate(rules("chutes"), rows, round=export.round)
    assert {h: round(Decimal(w) * NANO) for h, w in derived(hour).items()} == done.weights
    assert sum(done.weights.values()) == pytest.approx(NANO, abs=3)
    assert 1 < len(done.weights) < 5  # of one coldkey one hotkey is paid


def test_weights_in_another_unit_are_compared_as_shares(hour: Path) -> None:
    doubled = {hotkey: str(2 * Decimal(weight)) for hotkey, weight in derived(hour).items()}
    publish(hour, doubled)
    found = audit(hour, "--json").json()
    assert Decimal(found["largest"]) < Decimal("0.000000002")


def test_the_distance_to_the_chain_is_told_and_a_tolerance_lets_it_pass(hour: Path) -> None:
    weights = derived(hour)
    first, second, *_ = sorted(weights)
    moved = weights | {
        first: str(Decimal(weights[first]) + Decimal("0.01")),
        second: str(Decimal(weights[second]) - Decimal("0.01")),
    }
    publish(hour, moved)
    found = audit(hour, "--json")
    said = found.json()
    assert (found.status, said["verdict"]) == (1, "differs")
    assert Decimal(said["largest"]) == pytest.approx(Decimal("0.01"), abs=Decimal("0.00000001"))
    assert said["first"]["hotkey"] in (first, second)
    assert not any("that were set" in each for each in said["proved"])
    passed = audit(hour, "--tolerance", "0.03")
    assert passed.status == 0
    assert "within-tolerance" in passed.out
    assert "within the tolerance of the derived ones" in passed.out


def test_a_changed_file_is_told_whatever_the_weights_are(hour: Path) -> None:
    publish(hour, derived(hour))
    (reports,) = hour.glob("invocations/**/11-jobs.csv")
    reports.write_bytes(reports.read_bytes() + b"job,person,chute,5Miner00,,\n")
    found = audit(hour, "--json")
    assert (found.status, found.json()["verdict"]) == (1, "differs")
    assert "11-jobs.csv is not the file that report.json states" in found.json()["proved"][0]


def test_nothing_personal_is_kept(hour: Path) -> None:
    made_up = module("chutes", "made_up")
    everything = b"".join(path.read_bytes() for path in hour.rglob("*") if path.is_file())
    assert everything.count(made_up._PERSONAL.encode()) > 50
    export = module("chutes", "export").read(hour)
    kept = repr([export.records, export.round, export.published, export.digests, export.dropped])
    assert made_up._PERSONAL not in kept
    assert made_up._PERSONAL not in audit(hour, "--json").out


def test_a_repeated_call_counts_once_and_its_completed_row_wins(hour: Path) -> None:
    export = module("chutes", "export").read(hour)
    calls = [each for each in export.records if each["skill_type"] == "chutes/invocation"]
    assert len({each["task_id"] for each in calls}) == len(calls)
    assert all(each["submission"]["completed_us"] for each in calls)


@pytest.mark.parametrize(
    ("file", "old", "new", "said"),
    [
        ("entry.json", b'"end_time"', b'"ended"', "KeyError: 'end_time'"),
        (
            "report.json",
            b'"path": "invocations',
            b'"path": "../invocations',
            "one inside the folder",
        ),
        ("report.json", b"{", b"[", "JSONDecodeError"),
        ("metagraph.csv", b"5Miner00,5Cold01,0", b"5Miner00,5Cold01,zero", "ValueError"),
        ("metagraph.csv", b"5Miner01", b"5Miner00", "found 5Miner00 twice"),
        ("metagraph.csv", b"5Cold01,0,0", b"5Cold01,0,nan", "the weight NaN of 5Miner00"),
        ("metagraph.csv", b"5Cold01,0,0", b"5Cold01,0,-1", "the weight -1 of 5Miner00"),
        ("metagraph.csv", b"5Cold01,0,0", b"5Cold01,0,1e999999", "the weight 1E+999999 of"),
    ],
)
def test_files_that_are_no_export_are_refused(
    hour: Path, file: str, old: bytes, new: bytes, said: str
) -> None:
    path = hour / file
    data = path.read_bytes()
    assert old in data
    path.write_bytes(data.replace(old, new, 1))
    found = audit(hour)
    assert found.status == 2
    assert f"found no export of {FORMAT}" in message_of(found)
    assert said in message_of(found)


@pytest.mark.parametrize(
    ("lives", "expected"),
    [
        # not billed it counts from its first whole hour on, billed at once
        ([{"activated_at": -5}], {"gpus": 25, "hours": 5}),
        ([{"activated_at": -1, "billed": True}], {"gpus": 10, "hours": 2}),
        ([{"activated_at": -1}], {"gpus": 5, "hours": 1}),
        ([{"activated_at": -2.5, "deleted_at": -1.9}], None),
        ([{"activated_at": -2.5, "deleted_at": -1.9, "billed": True}], {"gpus": 5, "hours": 1}),
        ([{"activated_at": None}], None),
        # of one chute twice the same; a chute whose GPUs are unknown has one
        ([{"activated_at": -5}, {"activated_at": -5}], {"gpus": 25, "hours": 5}),
        ([{"activated_at": -5, "chute_id": "new"}], {"gpus": 5, "hours": 5}),
        ([{"activated_at": -5}, {"activated_at": -2, "chute_id": "new"}], {"gpus": 27, "hours": 5}),
        # seven days, both ends included
        ([{"activated_at": -999}], {"gpus": 845, "hours": 169}),
        ([{"activated_at": -999, "deleted_at": -168}], {"gpus": 5, "hours": 1}),
        ([{"activated_at": -999, "deleted_at": -169}], None),
    ],
)
def test_unique_chutes_are_counted_by_their_gpus_in_the_hours_of_seven_days(
    lives: list[dict[str, Any]], expected: dict[str, int] | None
) -> None:
    export, hour, now = module("chutes", "export"), 3600 * 10**6, 500_000 * 3600 * 10**6

    def life(**changes: Any) -> dict[str, Any]:  # noqa: ANN401
        times = {
            name: None if changes.get(name) is None else now + round(changes[name] * hour)
            for name in ("activated_at", "deleted_at")
        }
        return {"miner_hotkey": "m", "chute_id": "old", "billed": False, **changes, **times}

    # what is behind the last full hour does not count
    reader = export._Reader({"m": 3}, now + hour // 2)
    records = list(reader.chutes([life(**each) for each in lives], {"old": 5}))
    assert [each["checks"] for each in records] == ([] if expected is None else [expected])
    assert all(each["miner"] == {"uid": 3, "hotkey": "m"} for each in records)


def test_a_chute_whose_gpus_are_not_known_is_as_one_that_is_not_listed(hour: Path) -> None:
    counts = json.loads((hour / "gpu_counts.json").read_text())
    found = []
    for known in (counts[:-1], [*counts[:-1], counts[-1] | {"gpu_count": None}]):
        (hour / "gpu_counts.json").write_text(json.dumps(known))
        found.append(module("chutes", "export").read(hour).records)
    assert found[0] == found[1]


def test_rows_of_one_instance_are_one() -> None:
    reader = module("chutes", "export")._Reader({"m": 3, "n": 4}, 0)
    first = {"instance_id": "i", "chute_id": "c", "miner_hotkey": "m", "compute_multiplier": 1}
    rows = [
        {**first, "verified_at": "2026-05-01 10:00:00", "activated_at": "2026-05-01 10:30:00"},
        {
            **(first | {"miner_hotkey": "n", "compute_multiplier": 2, "billed_to": "somebody"}),
            "verified_at": "2026-05-01 11:00:00",
            "activated_at": "2026-05-01 11:30:00",
            "deleted_at": "2026-05-01 12:00:00",
            "deletion_reason": "old",
        },
        {**first, "miner_hotkey": "off the metagraph", "verified_at": None},
    ]
    for given in (rows, rows[::-1]):
        (life,) = reader.lives(given)
        assert (life["miner_hotkey"], life["compute_multiplier"]) == ("n", 2)
        assert (life["billed"], life["deletion_reason"]) == (True, "old")
        assert life["deleted_at"] - life["activated_at"] == 90 * 60 * 10**6


def test_metrics_are_read_as_data_and_never_run() -> None:
    metrics = module("chutes", "export")._metrics
    assert metrics("{'nc': 2, 'tps': 3, 'p': None}") == {"nc": 2}
    for text in ("", "None", "[1]", "{'nc': 1 + 1}", "__import__('os').getcwd()", "{'nc':", "\0"):
        assert metrics(text) is None, text
    with pytest.raises(ValueError, match="5000 characters"):
        metrics("(" * 5000)


def test_a_format_that_nobody_offers_is_refused(hour: Path) -> None:
    found = run("audit", "folder", hour, "--rules", RULES, "--format", "chutes/day")
    assert found.status == 2
    assert "expected one of chutes/hour" in message_of(found)
    found = run("audit", "folder", hour, "--rules", RULES, "--format", "nobody/hour")
    assert "no installed plugin offers it" in message_of(found)


def test_the_plugin_lists_its_format() -> None:
    assert f"exports: {FORMAT}" in run("plugins", "list").out
    listed = {each["name"]: each for each in run("plugins", "list", "--json").json()["plugins"]}
    assert listed["chutes"]["exports"] == [FORMAT]
    assert "exports" not in listed["skills"]
