"""Lints of a change of a consensus: what it gives members of made-up groups, before and after.

A group has five members who examined the same artifact. One of them, or two that agree, deviate in
one way; what that costs is how much less consensus they have than the honest members.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any

import attrs

from tallystick.numbers.nano import NANO, to_text
from tallystick.records.rejects import Reject
from tallystick.rules.findings import Finding, one_of
from tallystick.rules.structure import table_of
from tallystick.rules.toml import KeyPath
from tallystick.scoring.lint import both, check, comparison, figure, finding, less, more
from tallystick.scoring.scorer import Scorer
from tallystick_consensus.binding import BoundConsensus
from tallystick_consensus.checks import FACTOR
from tallystick_consensus.group import GroupConsensus, MemberConsensus, consensus_of
from tallystick_consensus.group_record import group_decoder
from tallystick_consensus.rules import CONSENSUS, Consensus
from tallystick_consensus.run import bound_consensus
from tallystick_consensus.signals import breakdown_at

Json = dict[str, Any]

_SECTION: KeyPath = (CONSENSUS.name,)
_MEMBERS = 5
_PRIMARIES = 3
_SEEN = NANO // 1000
"""Minimum cost of a deviation, in nano of consensus, that is one at all."""
_MUCH = NANO // 20
"""Cost in nano of consensus that an honest member notices."""
_WIDE = 100
"""Distance of two lines at which they are hardly the same finding."""
_GRAVE = frozenset(
    {
        "a verdict two steps off",
        "no findings",
        "an empty answer",
        "an answer that is wholly false",
    }
)
"""Deviations of who is to diverge under any rules that say so."""
_SPAM = 30
"""Number of items that a member invents."""


@attrs.frozen
class Artifact:
    """An artifact with findings and capabilities, and what policies can say of it.

    Attributes:
        kinds: kinds of capabilities.
        permits: the kind of a permission by ``resource/action``.
        denies: the kind of a denial by ``resource/action``.
    """

    kinds: tuple[str, ...]
    permits: Mapping[str, str]
    denies: Mapping[str, str]

    @classmethod
    def of(cls, *sections: Consensus) -> Artifact:
        """Return that with everything that any of some rules counts."""
        kinds = dict.fromkeys(kind for rules in sections for kind in rules.capability_kinds)
        permits: dict[str, str] = {}
        denies: dict[str, str] = {}
        for rules in reversed(sections):
            permits |= rules.permits
            denies |= rules.denies
        return cls(tuple(kinds), permits, denies)

    def answer(self, member: int = 0) -> Json:
        """Return the submission of an honest member; lines and risks differ a little."""
        return {
            "verdict": "BLOCK",
            "risk_score": round(0.8 + 0.01 * (member % 3), 2),
            "findings": [
                _finding(category, 1000 * place + member % 3)
                for category in ("canary_match", "tool_poisoning")
                for place in range(1, 5)
            ],
            "capabilities": [{"kind": kind, "value": _value(kind)} for kind in self.kinds],
            "dependencies": [f"CVE-{number}" for number in range(4)],
            "recommended_policy": [
                _rule(name, _value(kind)) for name, kind in self.permits.items()
            ],
        }


def _finding(category: str, line: int) -> Json:
    return {"category": category, "severity": "high", "file": "skill.md", "line": line}


def _value(kind: str) -> str:
    return f"the {kind}"


def _rule(name: str, pattern: str) -> Json:
    resource, _, action = name.partition("/")
    return {"resource": resource, "action": action, "pattern": pattern}


def _empty(_: Json) -> Json:
    return {"verdict": "ALLOW", "risk_score": 0.0}


def _false(answer: Json) -> Json:
    """Return an answer that is false in every part."""
    return {
        "verdict": "ALLOW",
        "risk_score": 0.0,
        "findings": [_finding("invented", 10_000 * place) for place in range(1, 9)],
        "capabilities": [
            {"kind": entry["kind"], "value": "invented"} for entry in answer["capabilities"]
        ],
        "dependencies": ["CVE-invented"],
        "recommended_policy": [{**r, "pattern": "invented"} for r in answer["recommended_policy"]],
    }


def _shifted(lines: int) -> Callable[[Json], Json]:
    def shift(answer: Json) -> Json:
        findings = [{**f, "line": f["line"] + lines} for f in answer["findings"]]
        return {**answer, "findings": findings}

    return shift


def _with(**parts: Any) -> Callable[[Json], Json]:  # noqa: ANN401  # JSON values
    return lambda answer: {**answer, **parts}


def _with_more(key: str, items: Sequence[Any]) -> Callable[[Json], Json]:
    return lambda answer: {**answer, key: [*answer[key], *items]}


_INVENTED = [_finding("invented", 10_000 * number) for number in range(_SPAM)]


def _deviations(artifact: Artifact) -> dict[str, Callable[[Json], Json]]:
    """Return ways to deviate in one part, by what is said of them."""
    deviations: dict[str, Callable[[Json], Json]] = {
        "a verdict one step off": _with(verdict="REVIEW"),
        "a verdict two steps off": _with(verdict="ALLOW"),
        "a risk that is far off": _with(risk_score=0.12),
        "no findings": _with(findings=[]),
        "half of the findings": lambda a: {**a, "findings": a["findings"][::2]},
        "findings 25 lines off": _shifted(25),
        "findings 400 lines off": _shifted(400),
        "many invented findings": _with_more("findings", _INVENTED),
        "no capabilities": _with(capabilities=[]),
        "no dependencies": _with(dependencies=[]),
        "many invented capabilities": _with_more(
            "capabilities",
            [{"kind": artifact.kinds[0], "value": f"invented {number}"} for number in range(_SPAM)],
        ),
        "many invented dependencies": _with_more(
            "dependencies", [f"CVE-{1000 + number}" for number in range(_SPAM)]
        ),
        "no policy": _with(recommended_policy=[]),
        "an empty answer": _empty,
        "an answer that is wholly false": _false,
    }
    for kind in artifact.kinds:
        invented = [{"kind": kind, "value": f"invented {number}"} for number in range(_SPAM)]
        name = f"many invented capabilities of the kind {kind}"
        deviations[name] = _with_more("capabilities", invented)
    for permission in artifact.permits:
        invented = [_rule(permission, f"invented {number}") for number in range(_SPAM)]
        name = f"many invented permissions {permission}"
        deviations[name] = _with_more("recommended_policy", invented)
    for denial, kind in artifact.denies.items():
        denied = [_rule(denial, _value(kind))]
        deviations[f"a denial {denial} of what is needed"] = _with_more(
            "recommended_policy", denied
        )
    return deviations


@attrs.frozen
class Conduct:
    """The consensus of members of made-up groups, in nano.

    Attributes:
        honest: of honest members among themselves.
        beside: of honest members beside one whose answer is wholly false.
        costs: by deviation, how much less than the honest members who deviates has.
        tolerated: likewise of small differences, such as of lines and of risks.
        diverging: the deviations of who diverges.
        honest_diverge: whether an honest member beside a false one diverges.
        alignments: by the part in which primaries agree on what is false, how much more they are
            alike to each other than to the auditors, exact.
    """

    honest: int
    beside: int
    costs: Mapping[str, int]
    tolerated: Mapping[str, int]
    diverging: frozenset[str]
    honest_diverge: bool
    alignments: Mapping[str, Fraction]


@lru_cache(maxsize=4)
def conducts(old: Scorer, new: Scorer) -> tuple[Conduct, Conduct, KeyPath] | None:
    """Return what two rule sets give the same groups, and the path of what changed.

    None without two consensuses of five, and where nothing of them changed.
    """
    bounds = bound_consensus(old), bound_consensus(new)
    if bounds[0] is None or bounds[1] is None or not _is_changed(old, new):
        return None
    if max(bounds[0].rules.minimum_valid, bounds[1].rules.minimum_valid) > _MEMBERS:
        return None
    artifact = Artifact.of(bounds[0].rules, bounds[1].rules)
    before, after = _conduct(old, bounds[0], artifact), _conduct(new, bounds[1], artifact)
    return before, after, _path(old, new)


def _is_changed(old: Scorer, new: Scorer) -> bool:
    sections = [scorer.rule_set.section(CONSENSUS) for scorer in (old, new)]
    return sections[0] != sections[1] or _factor(old) != _factor(new)


def _factor(scorer: Scorer) -> Mapping[str, Any]:
    emission = scorer.rule_set.emission
    factor = None if emission is None else emission.factors.get(FACTOR)
    return {} if factor is None else dict(factor.parameters)


def _conduct(scorer: Scorer, bound: BoundConsensus, artifact: Artifact) -> Conduct:
    kind = min(scorer.types)

    def group(answers: Sequence[Json]) -> GroupConsensus:
        return _group(kind, answers, bound)

    honest = [artifact.answer(member) for member in range(_MEMBERS)]
    deviations = _deviations(artifact)
    deviating = {
        name: group([*honest[:-1], deviate(honest[-1])]) for name, deviate in deviations.items()
    }
    costs = {name: _cost(result, 1) for name, result in deviating.items()}
    false, none = _false(honest[0]), [_empty(answer) for answer in honest]
    lazy = group([*honest[:-2], _empty(honest[0]), _false(honest[0])]).members
    costs["an empty answer beside a false one"] = _mean(lazy[:-2]) - _mean(lazy[-2:-1])
    costs["two members with one false answer"] = _cost(group([*honest[:-2], false, false]), 2)
    costs["one false answer beside two honest ones"] = _cost(group([*honest[:2], false]), 1)
    alone = {**none[-1], "findings": _INVENTED}
    costs["many invented findings where others find nothing"] = _cost(group([*none[:-1], alone]), 1)
    for part in ("capabilities", "dependencies"):
        invented = deviations[f"many invented {part}"]({**none[-1], part: []})
        name = f"many invented {part} where others find nothing"
        costs[name] = _cost(group([*none[:-1], invented]), 1)
    top = [{**answer, "findings": [_finding("canary_match", 1)]} for answer in honest]
    placeless = {
        **top[-1],
        "findings": [{"category": "canary_match", "severity": "high", "file": "skill.md"}],
    }
    costs["a finding without a line where there is one at the top"] = _cost(
        group([*top[:-1], placeless]), 1
    )
    small = {
        "findings 3 lines off": _shifted(3),
        "a risk that is about a tenth off": _with(risk_score=0.71),
    }
    tolerated = {
        name: _cost(group([*honest[:-1], deviate(honest[-1])]), 1)
        for name, deviate in small.items()
    }
    split = [
        {**answer, "risk_score": risk} for answer, risk in zip(honest, (0, 0, 1), strict=False)
    ]
    shared = group(split).members[0]
    tolerated["a risk that one of two others has"] = NANO - (shared.consensus or 0)
    beside = deviating["an answer that is wholly false"].members[:-1]
    return Conduct(
        _mean(group(honest).members),
        _mean(beside),
        costs,
        tolerated,
        frozenset(name for name, result in deviating.items() if result.members[-1].diverging),
        any(member.diverging for member in beside),
        _alignments(group, honest),
    )


def _group(kind: str, answers: Sequence[Json], bound: BoundConsensus) -> GroupConsensus:
    members = [
        {
            "uid": place,
            "hotkey": f"hk-{place}",
            "role": "primary" if place < _PRIMARIES else "auditor",
            "submission": answer,
        }
        for place, answer in enumerate(answers)
    ]
    about = {"skill_type": kind, "task_id": "task", "round": 1, "epoch": 0, "validator": "val"}
    decoded = group_decoder(frozenset([kind])).decode({**about, "members": members}, 1)
    assert not isinstance(decoded, Reject)  # noqa: S101  # it is made by the schema
    return consensus_of(decoded, bound)


def _mean(members: Sequence[MemberConsensus]) -> int:
    return sum(member.consensus or 0 for member in members) // len(members)


def _cost(result: GroupConsensus, deviating: int) -> int:
    """Return how much less consensus the last members have than the others, in nano."""
    return _mean(result.members[:-deviating]) - _mean(result.members[-deviating:])


def _alignments(
    group: Callable[[Sequence[Json]], GroupConsensus], honest: Sequence[Json]
) -> dict[str, Fraction]:
    false = _false(honest[0])
    result = {}
    for part in ("findings", "capabilities", "verdict"):
        colluding = {**honest[0], part: false[part]}
        member = group([colluding] * _PRIMARIES + [*honest[_PRIMARIES:]]).members[0]
        sides = member.aligned_with_primaries, member.aligned_with_auditors
        if sides[0] is not None and sides[1] is not None:
            result[part] = sides[0] - sides[1]
    return result


def _path(old: Scorer, new: Scorer) -> KeyPath:
    """Return the path of the one value that changed in the newer rule set, else of its table."""
    before, after = (scorer.rule_set.section(CONSENSUS) for scorer in (old, new))
    if before is not None and after is not None and before != after:
        return (*_SECTION, *_changed(table_of(before), table_of(after)))
    keys = [key for key, value in _factor(new).items() if _factor(old).get(key) != value]
    factor: KeyPath = ("emission", "factors", FACTOR)
    return (*factor, keys[0]) if len(keys) == 1 else factor


def _changed(before: Mapping[str, Any], after: Mapping[str, Any]) -> KeyPath:
    keys = [key for key in {**before, **after} if before.get(key) != after.get(key)]
    if len(keys) != 1 or keys[0] not in after:
        return ()
    (key,) = keys
    if isinstance(before.get(key), Mapping) and isinstance(after[key], Mapping):
        return (key, *_changed(before[key], after[key]))
    return (key,)


@check("verdict-distance-pays", "error", of=bound_consensus)
def _distance_pays(bound: BoundConsensus) -> Iterator[Finding]:
    """A verdict that is further off agrees more.

    The agreement on the verdict is computed for a distance of 0, 1 and 2 steps. It is to fall: who
    is unsure would otherwise answer the opposite.

    Remedy: let two steps agree no more than one.
    """
    agreements = [
        bound.computed([*[0] * (len(bound.domains) - 2), steps, 0])["verdict_agreement"]
        for steps in range(3)
    ]
    for steps in (1, 2):
        if agreements[steps] > agreements[steps - 1]:
            yield finding(
                (*_SECTION, "components", "verdict_agreement"),
                f"a verdict {steps} steps off agrees by {{agreements[{steps}]}}, and one "
                f"{steps - 1} off by {{agreements[{steps - 1}]}}",
                agreements=[to_text(nano) for nano in agreements],
            )


@check("one-other-decides", "warning", less("members"), of=bound_consensus)
def _one_other(bound: BoundConsensus) -> Iterator[Finding]:
    """One other member makes what it says agreed.

    In the smallest group that has a consensus a quorum of the others is one: what any one of them
    says is agreed, and who says something else deviates from it.

    Remedy: write quorum.round = "up" with a larger share, or raise minimum_valid.
    """
    members = bound.rules.minimum_valid
    voting = bound.voting(members)
    if not voting.own_vote and voting.quorum == 1:
        # of two members each is the only other, whatever the quorum
        key = "minimum_valid" if members == 2 else "quorum"
        message = "in a group of {members} one other makes what it says agreed"
        yield finding((*_SECTION, key), message, members=members)


@check("finding-lines-wide", "warning", more("lines"), of=bound_consensus)
def _wide(bound: BoundConsensus) -> Iterator[Finding]:
    """Findings far from each other are the same.

    Two findings of one category and file are the same within so many lines. Beyond a hundred a
    member need not know where anything is.

    Remedy: lower the distance, or the size of a bucket.
    """
    section = bound.rules.finding_lines
    for key, lines in (("lines", section.lines), ("size", section.size)):
        if lines is not None and lines >= _WIDE:
            message = f"findings {lines - (key == 'size')} lines apart are the same"
            yield finding((*_SECTION, "finding_lines", key), message, lines=lines)


@comparison("deviation-costs-less", "warning", of=conducts)
def _costs_less(before: Conduct, after: Conduct, path: KeyPath) -> Iterator[Finding]:
    """A member that deviates loses less than half of the consensus that it lost.

    In groups of five one member deviates in one part of its answer, or two give one false answer;
    how much less consensus they have than the others is compared. It is an error where they now
    have more than the honest members.

    Remedy: give the part that it deviates in its weight back, or a smaller distance.
    """
    cheaper = [
        name for name, was in before.costs.items() if was >= _SEEN and 2 * after.costs[name] < was
    ]
    if not cheaper:
        return
    worst = min(cheaper, key=lambda name: after.costs[name] - before.costs[name])
    was, now = before.costs[worst], after.costs[worst]
    yield finding(
        path,
        f"{worst} lost {to_text(was)} of consensus, and now {to_text(now)}{_and_others(cheaper)}",
        "error" if any(after.costs[name] < 0 <= before.costs[name] for name in cheaper) else None,
        deviations={
            name: {"old": to_text(before.costs[name]), "new": to_text(after.costs[name])}
            for name in cheaper
        },
    )


def _and_others(names: Sequence[str]) -> str:
    return f"; and {len(names) - 1} more" if len(names) > 1 else ""


@comparison("honest-members-lose", "warning", more("lost"), of=conducts)
def _honest_lose(before: Conduct, after: Conduct, path: KeyPath) -> Iterator[Finding]:
    """Honest members have less consensus than before.

    Honest members differ a little in lines and risks. Their consensus among themselves, and beside
    one whose answer is wholly false, is compared, and what somewhat larger differences take.

    Remedy: let lines and risks differ a little, and let a quorum be fewer than all.
    """
    lost = {
        "honest members beside a false one": before.beside - after.beside,
        **{
            f"a member with {name}": after.tolerated[name] - was
            for name, was in before.tolerated.items()
        },
    }
    whose = max(lost, key=lost.__getitem__)
    # members who agree in all that they can know are to lose nothing
    if lost[whose] < _MUCH:
        whose = "honest members among themselves"
        lost[whose] = before.honest - after.honest
    if lost[whose] >= _SEEN:
        message = "{lost} of consensus is lost by {whose}"
        yield finding(path, message, whose=whose, lost=to_text(lost[whose]))


@comparison("divergence-unseen", "warning", of=conducts)
def _unseen(before: Conduct, after: Conduct, path: KeyPath) -> Iterator[Finding]:
    """A member that diverged does not any more.

    In groups of five one member deviates gravely: it has no findings, the opposite verdict,
    nothing, or nothing that is true. Whether it diverges, so that its submission is run again, is
    compared.

    Remedy: raise signals.diverging, or what the deviation costs.
    """
    names = sorted((before.diverging - after.diverging) & _GRAVE)
    if names:
        yield finding(path, f"{names[0]} no longer diverges{_and_others(names)}", whose=names)


@comparison("honest-diverge", "warning", of=conducts)
def _honest_diverge(before: Conduct, after: Conduct, path: KeyPath) -> Iterator[Finding]:
    """An honest member diverges beside a false one.

    One of five members is wholly false. An honest one beside it now diverges.

    Remedy: lower signals.diverging.
    """
    if after.honest_diverge and not before.honest_diverge:
        yield finding(path, "honest members beside a false one diverge")


@comparison("breakdown-moved", "warning", of=both(CONSENSUS))
def _breakdown_moved(before: Consensus, after: Consensus) -> Iterator[Finding]:
    """A group breaks down with far fewer diverging members, or never.

    The number of diverging members with which a group of five breaks down, so that all its
    primaries are run again.

    Remedy: let about half of the members be a breakdown.
    """
    was, now = (breakdown_at(_MEMBERS, each.signals.breakdown) for each in (before, after))
    if abs(now - was) > 1 or (now > _MEMBERS) != (was > _MEMBERS):
        then = f"{now} of {_MEMBERS} members" if now <= _MEMBERS else "nobody"
        message = f"{then} that diverge are a breakdown; before {{old}}"
        yield finding((*_SECTION, "signals", "breakdown"), message, old=was, new=now)


@comparison("collusion-looks-honest", "warning", of=conducts)
def _looks_honest(before: Conduct, after: Conduct, _: KeyPath) -> Iterator[Finding]:
    """Primaries that agree on what is false look like auditors.

    Three primaries give one answer that is false in one part, and two auditors an honest one. How
    much more alike primaries are to each other than to auditors is what they are flagged by; less
    than a quarter of it is left.

    Remedy: give the part its share in the alignment back.
    """
    now = {part: after.alignments.get(part, Fraction()) for part in before.alignments}
    hidden = [part for part, was in before.alignments.items() if now[part] < was / 4]
    if hidden:
        yield finding(
            (*_SECTION, "alignment"),
            f"primaries that agree on false {one_of(hidden)} are hardly told from auditors",
            parts={
                part: {"old": figure(before.alignments[part]), "new": figure(now[part])}
                for part in hidden
            },
        )


@comparison("consensus-gone", "error")
def _gone(old: Scorer, new: Scorer) -> Iterator[Finding]:
    """Groups have no consensus any more.

    The older rule set has a consensus of groups of five members; the newer one has none, or asks
    for more of them.

    Remedy: keep the section, and let minimum_valid be at most the members of a group.
    """
    before, after = (scorer.rule_set.section(CONSENSUS) for scorer in (old, new))
    if before is None or before.minimum_valid > _MEMBERS:
        return
    if after is None:
        yield finding((), "the rule set has no consensus")
    elif after.minimum_valid > _MEMBERS:
        message = f"a group of {_MEMBERS} has no consensus: {{new}} members are needed"
        was, now = before.minimum_valid, after.minimum_valid
        yield finding((*_SECTION, "minimum_valid"), message, old=was, new=now)
