"""The pages about miners: the search, and where one stands."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from http import HTTPStatus
from urllib.parse import quote

import attrs

from tallystick.errors import TallystickError
from tallystick.json_values import JsonObject
from tallystick.numbers.nano import from_decimal
from tallystick.scoring.scorer import Scorer
from tallystick_service.access import condition, own_values
from tallystick_service.advice import advice
from tallystick_service.answer import CSV, Answer
from tallystick_service.examples import example_of
from tallystick_service.route import Parameter, Question, Route
from tallystick_service.shown import closings_of, history_of, sees_board, unknown_miner
from tallystick_service.standing import (
    Pay,
    TypeStanding,
    closed_pays,
    pays,
    public_standing,
    type_standing,
)
from tallystick_service.tables import csv_answer
from tallystick_state.leaderboard import Standing
from tallystick_state.sections.groups import GROUPS
from tallystick_state.stored_state import StoredSnapshots

_ROWS = 128
"""Maximum number of epochs in a table of the page; its CSV has all."""
_FOUND = 50
"""Maximum number of miners that a search shows."""


History = list[tuple[int, dict[str, Decimal]]]
"""Reputations of a miner by skill type, by epoch."""


@attrs.frozen
class Sight:
    """The parts of a miner that somebody sees.

    Attributes:
        own: the values that the rules show a miner of itself; None of a stranger.
        history: whether reputations by epoch are seen.
        pay: whether the steps to the weight are seen.
        is_embargoed: whether they would be seen later.
    """

    own: frozenset[str] | None
    history: bool
    pay: bool
    is_embargoed: bool

    @classmethod
    def of(cls, question: Question, hotkey: str) -> Sight:
        """Return what the asker of a question sees of a miner."""
        viewer, queries = question.viewer, question.queries
        seen = condition("miner", viewer, hotkey)
        own = None
        if seen in ("own", "always"):
            own = frozenset(own_values(queries, viewer, hotkey))
        pay = condition("pay", viewer, hotkey)
        history = condition("history", viewer, hotkey)
        return cls(
            own,
            own is not None and "reputation" in own and history != "never",
            pay == "always",
            pay == "embargo",
        )


@attrs.frozen
class MinerPage:
    """A miner as somebody sees it.

    Attributes:
        hotkey: who it is.
        uid: its slot; None without one.
        types: the skill types in which it stands.
        rounds: in how many rounds it was dispatched lately; None where that is not seen.
        pays: what it is paid, by line; empty where that is not seen.
        sight: what the asker sees.
    """

    hotkey: str
    uid: int | None
    types: tuple[TypeStanding, ...]
    rounds: int | None
    pays: tuple[Pay, ...]
    sight: Sight


def miner_view(question: Question, hotkey: str) -> MinerPage:
    """Return a miner as the asker of a question sees it.

    Raises:
        RefusedQuestionError: nobody of that hotkey is there, or nothing of it is public.
    """
    queries, sight = question.queries, Sight.of(question, hotkey)
    entry = queries.state.miners.get(hotkey)
    boards = public_boards(question)
    if sight.own is None:
        of_public = {
            name: standing
            for name, board in boards.items()
            for standing in board
            if standing.hotkey == hotkey
        }
        if not of_public:
            raise unknown_miner(hotkey)
        types = tuple(
            public_standing(standing, name, len(boards[name]))
            for name, standing in of_public.items()
        )
        uid = next(iter(of_public.values())).uid
        return MinerPage(hotkey, uid, types, None, (), sight)
    if entry is None:
        raise unknown_miner(hotkey)
    history = history_of(question, hotkey) if sight.history else []
    names = sorted({*entry.types, *entry.reputation})
    standings = (
        _shown(type_standing(queries, entry, name, _of_type(history, name)), sight)
        for name in names
    )
    rounds = queries.profile(hotkey).rounds if "dispatched_rounds" in sight.own else None
    of_lines = tuple(pays(queries, hotkey)) if sight.pay else ()
    if sight.is_embargoed:
        of_lines = _newest_pays(question, hotkey)
    return MinerPage(hotkey, entry.uid, tuple(standings), rounds, of_lines, sight)


def _newest_pays(question: Question, hotkey: str) -> tuple[Pay, ...]:
    """Return what a miner was paid as the newest epoch closed whose embargo is over."""
    number = question.queries.state.epoch - 1 - question.site.settings.embargo
    if number < 0:
        return ()

    def computed() -> tuple[Pay, ...]:
        with question.state.epoch_log() as log:
            return tuple(closed_pays(log, number, hotkey))

    key = "closed pays", number, hotkey, closings_of(question)[number + 1]
    return question.site.remembered(key, computed)


def _of_type(history: History, skill_type: str) -> list[tuple[int, int]]:
    """Return the reputation in a type by epoch, in nano."""
    return [(epoch, from_decimal(own[skill_type])) for epoch, own in history if skill_type in own]


def _shown(standing: TypeStanding, sight: Sight) -> TypeStanding:
    """Return a standing without what the rules do not show."""
    own = sight.own or frozenset()
    if "reputation" not in own:
        standing = attrs.evolve(standing, reputation=None, distances=())
    if "rank" not in own:
        standing = attrs.evolve(standing, rank=None, ranked=None, reason="", distances=())
    return standing


def public_boards(question: Question) -> Mapping[str, list[Standing]]:
    """Return the leaderboards that the asker sees, by skill type."""
    queries = question.queries
    sees_all = question.viewer.kind == "operator"
    return question.once(
        ("boards", sees_all),
        lambda: {
            name: queries.board(name)
            for name, rules in queries.rules.type_rules.items()
            if rules.rule_set.section(GROUPS) is not None and sees_board(question, name)
        },
    )


def scorer_at(question: Question) -> Scorer:
    """Return the rules in force, with the thresholds that the epochs of the state pin."""
    return question.state.scorer.with_snapshots(StoredSnapshots(question.queries.transaction))


def example_advice(question: Question, skill_type: str) -> JsonObject | None:
    """Return the advice about an example record of a type, by the rules and thresholds of now."""

    def computed() -> JsonObject | None:
        scorer, epoch = scorer_at(question), question.queries.state.epoch
        record = example_of(scorer, skill_type, epoch)
        if record is None:
            return None
        try:
            return advice(scorer, record).to_dict()
        except TallystickError:
            return None

    return question.once(("example", skill_type), computed)


def _miner(question: Question) -> Answer:
    hotkey = question.text("hotkey")
    view = miner_view(question, hotkey)
    advised = {each.skill_type: example_advice(question, each.skill_type) for each in view.types}
    return question.page("miner.html", view=view, advised=advised, most_rows=_ROWS)


def _miner_csv(question: Question) -> Answer:
    """Return the reputation of a miner by epoch and type as CSV."""
    hotkey = question.text("hotkey")
    if not Sight.of(question, hotkey).history:
        raise unknown_miner(hotkey)
    view = miner_view(question, hotkey)
    rows = [
        (epoch, standing.skill_type, value)
        for standing in view.types
        for epoch, value in reversed(standing.history)
    ]
    return csv_answer("reputation.csv", ("epoch", "skill_type", "reputation"), rows, nano=(2,))


@attrs.frozen
class Found:
    """A miner that a search found.

    Attributes:
        hotkey: who it is.
        uid: its slot; None without one.
        ranks: its rank by skill type, where it has one that is seen.
    """

    hotkey: str
    uid: int | None
    ranks: Mapping[str, int]


def search(question: Question, wanted: str) -> list[Found]:
    """Return the miners that the asker sees whose hotkey holds a text, or whose uid it is."""
    found: dict[str, Found] = {}
    for name, board in public_boards(question).items():
        for standing in board:
            before = found.get(standing.hotkey)
            ranks = {**(before.ranks if before else {}), name: standing.rank}
            found[standing.hotkey] = Found(standing.hotkey, standing.uid, ranks)
    if question.viewer.kind == "operator":
        for miner in question.queries.state.miners.values():
            found.setdefault(miner.hotkey, Found(miner.hotkey, miner.uid, {}))
    matching = (each for each in found.values() if _matches(each, wanted))
    return sorted(matching, key=lambda each: (each.uid is None, each.uid or 0, each.hotkey))


def _matches(found: Found, wanted: str) -> bool:
    if not wanted or wanted.casefold() in found.hotkey.casefold():
        return True
    return wanted.isdecimal() and found.uid is not None and str(found.uid) == wanted.lstrip("0")


def _miners(question: Question) -> Answer:
    wanted = question.text("q").strip()
    found = search(question, wanted)
    exact = [f for f in found if f.hotkey == wanted or (wanted and str(f.uid) == wanted)]
    if len(exact) == 1:
        place = f"/miners/{quote(exact[0].hotkey, safe='')}"
        return Answer(b"", status=HTTPStatus.SEE_OTHER, headers={"location": place})
    return question.page(
        "miners.html", wanted=wanted, found=found[:_FOUND], more=max(len(found) - _FOUND, 0)
    )


_HOTKEY = Parameter(name="hotkey", meaning="the hotkey of a miner", required=True)

ROUTES = (
    Route(
        path="/miners",
        name="miners_page",
        sentence="Search of miners by hotkey or uid.",
        answer=_miners,
        subject="board",
        media_type="text/html; charset=utf-8",
        parameters=(Parameter(name="q", meaning="a hotkey, a part of one, or a uid"),),
    ),
    Route(
        path="/miners/{hotkey}",
        name="miner_page",
        sentence="Where one miner stands, what it is paid, and what it may do next.",
        answer=_miner,
        subject="miner",
        media_type="text/html; charset=utf-8",
        parameters=(_HOTKEY,),
    ),
    Route(
        path="/miners/{hotkey}/reputation.csv",
        name="miner_csv",
        sentence="The reputation of one miner by epoch and skill type, as CSV.",
        answer=_miner_csv,
        subject="history",
        media_type=CSV,
        parameters=(_HOTKEY,),
    ),
)
"""The pages about miners."""
