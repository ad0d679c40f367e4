"""The formula of the engine itself: what a warm-up stands for."""

from tallystick.formula.formula import Parameters, measure
from tallystick.formula.tree import Operand, cases, minimum, published
from tallystick.rules.allocation import WARM_UP


@measure(WARM_UP, within=(0, 1), tasks=(1, 1_000_000))
def warm_up(p: Parameters) -> Operand:
    """The mean times min(1, tasks done / tasks) while the miner is immune."""
    warm = published("mean") * minimum(1, published("done") / p.tasks)
    return cases((published("miner.immune") > 0, warm), otherwise=published("mean"))
