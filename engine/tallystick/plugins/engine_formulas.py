"""The formulas of the engine itself, which every rule set may name beside those of plugins."""

from __future__ import annotations

from collections.abc import Mapping

from tallystick.formula.formula import Formula, Parameters, measure
from tallystick.formula.tree import Operand, cases, minimum, published

NAMESPACE = "allocation"
"""The namespace of these formulas, which is the name of no plugin."""
WARM_UP = f"{NAMESPACE}/warm-up@1"
"""The formula of a step that a warm-up stands for."""


@measure(WARM_UP, within=(0, 1), tasks=(1, 1_000_000))
def warm_up(p: Parameters) -> Operand:
    """The mean times min(1, tasks done / tasks) while the miner is immune."""
    warm = published("mean") * minimum(1, published("done") / p.tasks)
    return cases((published("miner.immune") > 0, warm), otherwise=published("mean"))


ENGINE_FORMULAS: Mapping[str, Formula] = {WARM_UP: warm_up}
"""The formulas, by name."""
