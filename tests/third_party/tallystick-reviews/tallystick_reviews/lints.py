"""What the linter says of ``[reviews]``."""

from collections.abc import Iterator

from tallystick import Scorer
from tallystick.rules.findings import Finding
from tallystick.scoring.lint import check
from tallystick_reviews.rules import REVIEWS

tallystick_api = 1


@check("reviews/never-drawn", "warning")
def never_drawn(scorer: Scorer) -> Iterator[Finding]:
    """A skill type that nobody looks at.

    With a share of 0 no task of the type is drawn, so what a machine gets wrong about it stays
    unseen.

    Remedy: give the skill type a share above 0, or take it out of the rule set.
    """
    reviews = scorer.rule_set.section(REVIEWS)
    if reviews is None:
        return
    for name in scorer.rule_set.skill_types:
        if reviews.share_of(name) == 0:
            path = ("reviews", "types", name) if name in reviews.types else ("reviews", "share")
            yield Finding(path, f"no task of {name} is drawn", {"skill_type": name})


LINTS = (never_drawn,)
