"""Versions side by side: what is pinned keeps its bytes when a newer release is installed."""

from hashlib import sha256
from pathlib import Path

import pytest
from third_party.blend_releases import PACKAGE, copy_of, formulas, loaded

import tallystick
from tallystick.errors import InputError, RuleSetError
from tallystick.plugins.registry import Registry
from tallystick.rules.loading import shipped
from tallystick.scoring.facts.run import extract_file
from tallystick.scoring.receipt import Receipt
from tallystick.scoring.scorer import Scorer
from tallystick_state.ledger import Ledger

OLD, NEW = "blend@1.0.0", "blend@1.1.0"
FORMULA = "blend/efficiency"


def score(scorer: Scorer, source: Path, output: Path) -> tuple[bytes, Receipt]:
    receipt = scorer.score_file(source, output)
    return output.read_bytes(), receipt


def test_both_releases_of_a_formula_and_of_a_rule_set_are_there(
    plugins: Registry, newer: Registry
) -> None:
    before, after = plugins.plugins["blend"], newer.plugins["blend"]
    digests = {each.name: each.digest for each in after.formulas}
    assert digests.keys() - {each.name for each in before.formulas} == {f"{FORMULA}@2"}
    assert {each.name: each.digest for each in before.formulas}.items() <= digests.items()
    assert digests[f"{FORMULA}@1"] != digests[f"{FORMULA}@2"]
    assert digests == formulas(newer.rule_set_folders["blend"][0].parent)
    assert [n for n in shipped(plugins) if n.startswith("blend@")] == [OLD]
    assert [n for n in shipped(newer) if n.startswith("blend@")] == [OLD, NEW]


def test_what_is_pinned_scores_to_the_same_bytes(
    blend: Scorer, newer: Registry, history: Path, tmp_path: Path
) -> None:
    pin = f"{OLD}@{blend.digest}"
    before, proof = score(blend, history, tmp_path / "before.jsonl")
    pinned = tallystick.load(pin, registry=newer)
    after, again = score(pinned, history, tmp_path / "after.jsonl")
    assert before == after
    assert proof.output_digest == f"sha256:{sha256(before).hexdigest()}"
    assert (proof.rule_set_digest, proof.formulas, proof.schemas) == (
        again.rule_set_digest,
        again.formulas,
        again.schemas,
    )
    assert tallystick.load(blend.digest, registry=newer).digest == blend.digest


def test_a_pin_refuses_another_release_under_its_name(blend: Scorer, newer: Registry) -> None:
    with pytest.raises(RuleSetError) as caught:
        tallystick.load(f"{NEW}@{blend.digest}", registry=newer)
    assert tallystick.load(NEW, registry=newer).digest in str(caught.value)


def test_a_newer_rule_set_without_its_release_is_refused(
    plugins: Registry, newer: Registry
) -> None:
    file = newer.rule_set_folders["blend"][0] / "blend" / "1.1.0.toml"
    with pytest.raises(RuleSetError, match=rf"{FORMULA}@2") as caught:
        tallystick.load(str(file), registry=plugins)
    assert f"did you mean '{FORMULA}@1'?" in str(caught.value)


@pytest.mark.nightly
def test_facts_from_before_score_what_is_pinned_and_refuse_what_they_lack(
    blend: Scorer, plugins: Registry, newer: Registry, history: Path, tmp_path: Path
) -> None:
    extract_file(history, tmp_path / "old.parquet", plugins)
    extract_file(history, tmp_path / "new.parquet", newer)
    before, _ = score(blend, history, tmp_path / "before.jsonl")
    pinned = tallystick.load(f"{OLD}@{blend.digest}", registry=newer)
    latest = tallystick.load(NEW, registry=newer)
    for name in ("old", "new"):
        facts = tmp_path / f"{name}.parquet"
        assert score(pinned, facts, tmp_path / f"{name}.jsonl")[0] == before
    # the newer release is gone again: its facts still do for the older rule set
    assert score(blend, tmp_path / "new.parquet", tmp_path / "back.jsonl")[0] == before
    direct, _ = score(latest, history, tmp_path / "latest.jsonl")
    assert score(latest, tmp_path / "new.parquet", tmp_path / "facts.jsonl")[0] == direct
    with pytest.raises(InputError) as caught:
        latest.score_file(tmp_path / "old.parquet", tmp_path / "none.jsonl")
    assert "without " in str(caught.value)
    assert "events" in str(caught.value)
    assert "make the facts of the records again" in str(caught.value)
    assert not (tmp_path / "none.jsonl").exists()


def test_a_state_goes_on_under_its_rule_set(
    blend: Scorer, plugins: Registry, newer: Registry, tmp_path: Path
) -> None:
    store = str(tmp_path / "state.db")
    with Ledger.create(store, OLD, registry=plugins) as ledger:
        seeds = ledger.close_epoch().snapshot
    with Ledger.open(store, registry=newer) as ledger:
        assert ledger.rules.digest == blend.digest
        assert ledger.close_epoch().snapshot.thresholds == seeds.thresholds
        latest = tallystick.load(NEW, registry=newer)
        with pytest.raises(tallystick.TallystickError, match="expected that of the state"):
            ledger.scoring(latest).__enter__()


def test_a_changed_formula_under_its_old_name_is_not_what_was_pinned(
    blend: Scorer, tmp_path: Path
) -> None:
    project = copy_of(tmp_path / "project")
    module = project / PACKAGE / "efficiency.py"
    text = module.read_text()
    assert "(latency > deadline, 0)" in text
    module.write_text(text.replace("(latency > deadline, 0)", "(latency >= deadline, 0)"))
    changed = loaded(project)
    assert changed.refused == {}
    assert tallystick.load(OLD, registry=changed).digest != blend.digest
    with pytest.raises(RuleSetError, match=blend.digest):
        tallystick.load(f"{OLD}@{blend.digest}", registry=changed)
