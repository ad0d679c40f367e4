"""A state in fractions, and whether it is what the oracle of histories has."""

from collections.abc import Iterable, Sequence
from fractions import Fraction

from oracle.history import History, Line, Scores

from tallystick_state.ledger import Ledger
from tallystick_state.model import State
from tallystick_state.queries import StateQueries

NANO = 10**9


def fractions_of(state: State) -> dict[tuple[str, str], Fraction]:
    """The reputations by hotkey and type."""
    return {
        (hotkey, name): Fraction(nano, NANO)
        for hotkey, miner in state.miners.items()
        for name, nano in miner.reputation.items()
    }


def levels_of(state: State) -> dict[str, tuple[Fraction, Fraction]]:
    """The baseline and the novel threshold by type."""
    both = {name: (each["baseline"], each["novel"]) for name, each in state.thresholds.items()}
    return {name: (Fraction(b, NANO), Fraction(n, NANO)) for name, (b, n) in both.items()}


def scores_of(queries: StateQueries, rounds: Iterable[int]) -> Scores:
    """The scores of some rounds."""
    found = {number: queries.round_scores(number) for number in rounds}
    return {
        number: {hotkey: Fraction(score) for hotkey, score in scores.items()}
        for number, scores in found.items()
    }


def assert_agrees(ledger: Ledger, told: History, lines: Sequence[Line]) -> None:
    """Reputations, thresholds, flags, pools and the scores of all rounds of some lines."""
    rules = told.rules(told.epoch)
    with ledger.queries() as queries:
        assert fractions_of(queries.state) == told.reputations
        assert levels_of(queries.state) == told.levels
        flagged = {h: dict(given) for h, given in told.flagged.items() if given}
        flags = {h: miner.flags for h, miner in queries.state.miners.items() if miner.flags}
        assert flags == {hotkey: sum(given.values()) for hotkey, given in flagged.items()}
        by = {h: m.flagged_by for h, m in queries.state.miners.items() if m.flagged_by}
        assert by == (flagged if rules.decided else {})
        for skill_type in rules.types:
            board = [each.hotkey for each in queries.board(skill_type)]
            assert board == told.pool(skill_type)
        expected = told.round_scores(lines)
        assert scores_of(queries, expected) == expected
