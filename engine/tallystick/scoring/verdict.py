"""The verdict on a record: what it earns in one sentence, and of a 0 why."""

from __future__ import annotations

import attrs

from tallystick.formula.evaluate import evaluate
from tallystick.formula.text import decimal_text, render
from tallystick.formula.tree import Node, arms_of
from tallystick.numbers.nano import to_text
from tallystick.numbers.real import Exact
from tallystick.scoring.scores import Scores
from tallystick.scoring.value import Value

NO_SUBMISSION = "nothing is scored, because there is no submission"
"""The verdict on a record without a submission."""
_COMPARED = {"lt": "<", "le": "≤"}
_FOLLOWED = frozenset({"label", "published", "mul", "div", "geometric", "cases"})


def verdict(scores: Scores, tier: str | None) -> str:
    """Return what a record earns; empty of a type that has measures alone.

    Args:
        scores: of the record.
        tier: the name of the tier; None without tiers.

    Returns:
        Such as ``emission 1.643370696: quality 0.826978007, tier_3_novel``; of a 0 the way to the
        first value that is 0 by itself: ``quality 0.000000000, because efficiency is 0: 1000 ·
        deadline_s < latency_ms, as 60000 < 61000``.
    """
    bound = scores.bound
    if bound.emission is None and not bound.has_quality:
        return ""
    earned = bound.emission or bound.quality
    nano = scores.values[earned] or 0
    statement = f"{earned.role} {to_text(nano)}"
    if nano == 0:
        return ", because ".join(filter(None, (statement, _Why(scores).of(earned))))
    if bound.emission is not None:
        statement += f": quality {to_text(scores.quality)}"
    return ", ".join(filter(None, (statement, tier)))


@attrs.frozen
class _Why:
    """Why a value is 0.

    Attributes:
        scores: of the record.
    """

    scores: Scores

    def of(self, value: Value) -> str:
        """Return why a value is 0; empty where it cannot be said shorter than by its steps."""
        bound = self.scores.bound
        if value is bound.quality:
            axes = {axis.name: axis for axis in bound.axes}
            for gate in reversed(bound.gates):
                if self.scores.axes[gate.axis] < gate.below:
                    statement = f"{gate.axis} is below {to_text(gate.below)}"
                    return self._followed(axes[gate.axis], statement)
            return self.of(bound.composite)
        return self._of_tree(value.tree, value)

    def _followed(self, value: Value, statement: str = "") -> str:
        """Return that a value is 0, and why."""
        statement = statement or f"{value.name} is 0"
        why = self.of(value) if self.scores.values[value] == 0 else ""
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
        facts = dict(zip(self.scores.bound.domains, self.scores.facts, strict=True))
        return evaluate(node, facts, value.read(self.scores.values))
