"""Answers: the types of the JSON that the service gives, from which its description is made.

The values are those of the command line's ``--json``, by the same functions; a test holds that each
answer is of its type. Numbers of the field are text of nine places.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from tallystick.json_values import JsonObject
from tallystick.scoring.explanation import (
    Cliff,
    CompositeStep,
    Fact,
    TierStep,
)
from tallystick_state.answers import MinerInfo
from tallystick_state.leaderboard import Standing
from tallystick_state.step_roots import StepRoot

Decimals = dict[str, str]
"""Decimals of nine places, by name."""


class _Answer(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """A JSON object with these keys alone; a key with a default may be missing."""


class Problem(_Answer):
    """One thing that is wrong; message and remedy are the operator's alone."""

    code: str
    message: str = ""
    remedy: str = ""


class HealthAnswer(_Answer):
    """The health of the service, or of the daemon that it is in."""

    status: Literal["ok", "degraded", "failing"]
    problems: list[Problem]


class Refusal(_Answer):
    """A refusal: its stable code, what was found, what was expected, what to do."""

    code: str
    found: str
    expected: str
    remedy: str
    path: str = ""
    problems: list[JsonObject] = []


class ErrorAnswer(_Answer):
    """A question that is not answered."""

    error: Refusal


class StateAnswer(_Answer):
    """The digests of a state."""

    digest: str
    epoch: int
    rules_digest: str


class BoardAnswer(_Answer):
    """The leaderboard of a skill type; the reason is why it is empty."""

    skill_type: str
    epoch: int
    board: list[Standing]
    reason: str = ""


class MinerAnswer(_Answer):
    """A miner, as far as the asker sees it."""

    hotkey: str
    epoch: int
    reputation: Decimals = {}
    rank: dict[str, int | None] = {}
    rounds_24h: int | None = 0
    rounds_counted: Literal["hours", "all"] = "all"


class EpochReputations(_Answer):
    """The reputations with which a miner began an epoch, by skill type."""

    epoch: int
    reputation: Decimals


class HistoryAnswer(_Answer):
    """The reputations of a miner in each epoch."""

    hotkey: str
    epochs: list[EpochReputations]


class MinersAnswer(_Answer):
    """Every miner; the reason is why there is none."""

    epoch: int
    miners: list[MinerInfo]
    reason: str = ""


class PayStep(_Answer):
    """The result of one step of an allocation for one miner; null where it has none."""

    step: str
    do: str
    reads: list[str]
    published: bool
    value: str | dict[str, str | None] | None


class LinePay(_Answer):
    """Every step from the scores of a miner to its weight in a line."""

    hotkey: str
    steps: list[PayStep]
    weight: str | None
    without: str


class PayAnswer(_Answer):
    """Every step from the scores of a miner to its weight in an epoch, by line."""

    hotkey: str
    epoch: int
    lines: dict[str, LinePay]


class LineWeights(_Answer):
    """The weights of a line, exact and as Bittensor's uint16; in the order of the slots."""

    uids: list[int] = []
    weights: list[str] = []
    uint16: list[int] = []
    dropped: dict[str, str] = {}
    without: dict[str, int] = {}
    reason: str = ""


class LiveWeightsAnswer(LineWeights):
    """Weights: of the only line, or of each; where pools share them, those of all before."""

    lines: dict[str, LineWeights] = {}


class WeightsAnswer(LiveWeightsAnswer, kw_only=True):
    """The weights of a closed epoch."""

    epoch: int


class EpochRow(_Answer):
    """An epoch that has begun."""

    epoch: int
    open: bool
    at: str | None
    events: int
    snapshot: str


class EpochsAnswer(_Answer):
    """Epochs that have begun."""

    epochs: list[EpochRow]


class Leaf(_Answer):
    """The leaf of a closed epoch in the log of epochs, ``epoch-leaf-1``."""

    epoch: int
    format: int
    genesis: str
    rules: dict[str, str]
    snapshot: str
    steps: dict[str, StepRoot | None]
    adopted: dict[str, str] = {}
    carry: str = ""
    salt: str = ""


class EpochAnswer(EpochRow, kw_only=True):
    """An epoch: the thresholds it began with; its leaf once closed, or once its embargo is over."""

    previous: str | None
    thresholds: dict[str, Decimals]
    leaf: Leaf | None
    reputation: dict[str, Decimals] = {}


class CheckpointAnswer(_Answer):
    """The checkpoint of the closed epochs, as ``state checkpoint --json`` gives it."""

    origin: str
    size: int
    root: str
    signed_by: str | None
    checkpoint: str
    rules_digest: str


class RowProofAnswer(_Answer):
    """A proof of a row, ``proof-1``."""

    checkpoint: str
    format: int
    leaf: Leaf
    leaf_path: list[str]
    row: list[Any]
    row_index: int
    row_path: list[str]
    step: str


class LogAnswer(_Answer):
    """The hashes of the leaves of the log of epochs, in hexadecimal digits."""

    leaves: list[str]


class RulesSpan(_Answer):
    """Rules of a line from epoch to epoch."""

    status: Literal["held", "holds", "will hold"]
    epoch: int
    until: int | None
    block: int | None
    reference: str
    digest: str
    sequence: int | None
    statement: str | None
    signed_by: list[str]
    gate_receipt: str = ""


class LineRules(_Answer):
    """The rules of a line."""

    line: str
    rules: list[RulesSpan]


class RulesAnswer(_Answer):
    """The rules of each line, as ``state rules --json`` gives them."""

    epoch: int
    lines: list[LineRules]
    pools: list[JsonObject] = []


class RuleSetRow(_Answer):
    """A rule set, and whether the state follows it in some epoch."""

    name: str
    digest: str
    summary: str
    followed: bool


class RuleSetsAnswer(_Answer):
    """Rule sets."""

    rule_sets: list[RuleSetRow]


class RuleSetAnswer(msgspec.Struct):
    """A rule set as ``rules show --json`` gives it: other keys are those of its sections."""

    digest: str
    canonical: JsonObject


class ScoreAnswer(msgspec.Struct):
    """The scores of a record, as a results file has them; other keys are emission factors."""

    record: int
    skill_type: str
    task_id: str
    miner_uid: int
    miner_hotkey: str
    role: str
    axes: Decimals
    quality: str | None
    tier: str | None
    base_weight: str | None
    tier_multiplier: str | None
    emission: str | None


class ExplainedValue(_Answer):
    """One published value and how it came about; the value of an exact measure is a ratio."""

    name: str
    symbol: str
    formula: str
    text: list[str]
    values: list[str]
    intermediates: dict[str, str]
    exact: str
    value: str | None
    cliffs: list[Cliff]


class ExplainAnswer(_Answer):
    """Every step behind the scores of a record, as ``explain --json`` gives it."""

    verdict: str
    result: ScoreAnswer
    rule_set: str
    digest: str
    facts: list[Fact]
    axes: list[ExplainedValue]
    composite: CompositeStep | None
    tier: TierStep | None
    factors: list[ExplainedValue]
    emission: ExplainedValue | None
    measures: list[ExplainedValue] = []
