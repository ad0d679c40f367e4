"""Where the tiers begin."""

from tallystick.plugins.author import UNIT, Node, Parameters, published, threshold


@threshold("blend/novel-floor@1", within=(0, 10), factor=(1, 10))
def novel_floor(p: Parameters) -> Node:
    """A multiple of the baseline; what a tracked threshold is at least."""
    return p.factor * published("baseline")


@threshold("blend/share-of-novel@1", within=(0, 10), share=UNIT)
def share_of_novel(p: Parameters) -> Node:
    """A share of the threshold of the highest tier."""
    return p.share * published("novel")
