"""The verdict on a record: what it earns in one sentence, and of a 0 why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import attrs

from tallystick.formula.evaluate import evaluate
from tallystick.formula.text import decimal_text, render
from tallystick.formula.tree import Node, arms_of
from tallystick.numbers.nano import to_text
from tallystick.numbers.real import Exact
from tallystick.scoring.bound import BoundType
from tallystick.scoring.value import Value

NO_SUBMISSION = "nothing is scored, because there is no submission"
"""The verdict on a record without a submission."""
_COMPARED = {"lt": "<", "le": "≤"}
_FOLLOWED = frozenset({"label", "published", "mul", "div", "geometric", "cases"})


def verdict(
    bound: BoundType, facts: Sequence[int], values: Mapping[Value, int | None], tier: str | None
) -> str:
    """Return what a record earns; empty of a type that has measures alone.

    Args:
        bound: the skill type.
        facts: those of the record, in the order of the type.
        values: what is published, in nano.
        tier: the name of the tier; None without tiers.

    Returns:
        Such as ``emission 1.643370696: quality 0.826978007, tier_3_novel``; of a 0 the way to the
        first value that is 0 by itself: ``quality 0.000000000, because efficiency is 0: 1000 ·
        deadline_s < latency_ms, as 60000 < 61000``.
    """
    emission, quality = bound.emission, bound.quality
    if emission is None and not bound.has_quality:
        return ""
    earned = emission or quality
    nano = values[earned] or 0
    statement = f"{earned.role} {to_text(nano)}"
    if nano == 0:
        by_digest = {f.digest: n for f, n in zip(bound.facts, facts, strict=True)}
        why = _Why(bound, by_digest, values)
        return ", because ".join(filter(None, (statement, why.of(earned))))
    if emission is not None:
        statement += f": quality {to_text(values[quality] or 0)}"
    return ", ".join(filter(None, (statement, tier)))


@attrs.frozen
class _Why:
    """Why a value is 0.

    Attributes:
        bound: the skill type.
        facts: the integers by the digest of the fact.
        values: what is published, in nano.
    """

    bound: BoundType
    facts: Mapping[str, int]
    values: Mapping[Value, int | None]

    def of(self, value: Value) -> str:
        """Return why a value is 0; empty where it cannot be said shorter than by its steps."""
        if value is self.bound.quality:
            axes = {axis.name: axis for axis in self.bound.axes}
            for gate in reversed(self.bound.gates):
                axis = axes[gate.axis]
                if (self.values[axis] or 0) < gate.below:
                    return self._followed(axis, f"{axis.name} is below {to_text(gate.below)}")
            return self.of(self.bound.composite)
        return self._of_tree(value.tree, value)

    def _followed(self, value: Value, statement: str = "") -> str:
        """Return that a value is 0, and why."""
        statement = statement or f"{value.name} is 0"
        why = self.of(value) if self.values[value] == 0 else ""
        return ": ".join(filter(None, (statement, "" if why == statement else why)))

    def _of_tree(self, node: Node, value: Value) -> str:
        match node.op:
            case "label" if node.args[0].op in _FOLLOWED:
                return self._of_tree(node.args[0], value)
            case "published":
                name = str(node.data[0])
                return self._followed(next(v for v in value.inputs if v.name == name))
            case "mul" | "div" | "geometric":
                zero = next((part for part in node.args if not self._exact(part, value)), None)
                return "" if zero is None else self._of_tree(zero, value)
            case "add" if not any(self._exact(part, value) for part in node.args):
                return self._of_tree(node.args[0], value)
            case "cases":
                arms, otherwise = arms_of(node)
                arm = next((arm for arm in arms if self._exact(arm[0], value)), None)
                if arm is None:
                    return self._of_tree(otherwise, value)
                condition, part = arm
                further = "" if part.op == "const" else self._of_tree(part, value)
                return ", and ".join(filter(None, (self._holds(condition, value), further)))
            case "const":
                return ""
        return f"{node.data[0] if node.op == 'label' else render(node)} is 0"

    def _holds(self, condition: Node, value: Value) -> str:
        """Return a condition that holds, and of a comparison of sizes what is compared."""
        text, sign = render(condition), _COMPARED.get(condition.op)
        if sign is None:
            return text
        left, right = (decimal_text(self._exact(part, value)) for part in condition.args)
        return f"{text}, as {left} {sign} {right}"

    def _exact(self, node: Node, value: Value) -> Exact:
        return evaluate(node, self.facts, value.read(self.values))
