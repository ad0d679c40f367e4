"""What a candidate proposes: its own words, and every value and formula that differs."""

from pathlib import Path

from cli.command import run

from tallystick.plugins.registry import installed
from tallystick.rules.loading import load
from tallystick_governance.backtest.candidates import candidates_of, parse_sweep


def test_a_candidate_tells_its_words_and_all_that_it_changes_and_the_baseline_nothing() -> None:
    baseline, given, *swept = candidates_of(
        ["skills@1.0.0", "skills@1.1.0"],
        [
            parse_sweep("axes.policy.weight=0.10:0.20:0.10"),
            parse_sweep("axes.policy.beta=0.5:1:0.5"),
        ],
        installed(),
    )
    header = load("skills@1.1.0", installed()).rule_set.rule_set
    assert (given.proposal.summary, given.proposal.source) == (header.summary, header.source)
    assert not baseline.proposal.changes
    assert not baseline.proposal.formulas
    changed = {each.path: (each.old, each.new) for each in given.proposal.changes}
    assert changed["axes.detection.formula"] == ("skills/detection@1", "skills/detection@2")
    assert not [path for path in changed if path.startswith(("rule_set.", "lint."))]
    assert "skills/detection@2" in {each.name for each in given.proposal.formulas}
    for each in swept:
        assert not each.proposal.formulas
        weight, beta = each.identity.changes
        # beta of all types is one number; weights of a swept axis are rescaled type by type
        assert beta.baseline == "0.5"
        if weight.baseline is not None:
            assert weight.baseline != weight.value
        paths = {change.path for change in each.proposal.changes}
        assert ("axes.policy.beta" in paths) is (beta.value != beta.baseline)
        assert "skill_types.mcp_server.weights.policy" in paths


def test_words_and_sources_that_are_the_baseline_s_are_nobody_s_own(tmp_path: Path) -> None:
    path = tmp_path / "proposal.toml"
    values = ("tiers.thresholds.novel.headroom=0.4", "axes.policy.beta=0.6")
    assert run("rules", "set", "skills@1.1.0", *values, "-o", path).status == 0
    inherited = load("skills@1.1.0", installed()).rule_set.rule_set.summary
    header = 'name = "skills"\n'
    plain = path.read_text()
    for text in (plain, plain.replace(header, f'{header}summary = "{inherited}"\n', 1)):
        path.write_text(text)
        _, silent = candidates_of(["skills@1.1.0", str(path)], [], installed())
        assert (silent.proposal.summary, silent.proposal.source) == (None, "")
    path.write_text(plain.replace(header, f'{header}summary = "Pays novelty earlier"\n', 1))
    _, own = candidates_of(["skills@1.1.0", str(path)], [], installed())
    assert (own.proposal.summary, own.proposal.source) == ("Pays novelty earlier", "")
    # a changed value stands beside the formula that reads it
    uses = {each.name: each for each in own.proposal.uses}
    assert uses["skills/scaled-baseline@2"].parameters == ("headroom",)
    assert "baseline + headroom · (1 − baseline)" in uses["skills/scaled-baseline@2"].lines[0]
    assert [each.parameters for each in uses.values()].count(("beta",)) == 1
