"""A story of a subnet: epochs, records, kills and cuts by a seed, and what is true at its end."""

import itertools
import random
import threading
from collections import Counter
from collections.abc import Callable, Iterable

import attrs
from validator.daemons import lines
from validator.scenario.subnets import (
    ADOPTED,
    ANCHOR,
    COMMIT_BY,
    MINERS,
    NETUID,
    VOTE_BY,
    WEIGHTS_AT,
    House,
    Subnet,
    records,
    tasks,
)
from validator.wires import Mode, Trap

RECORDS = 12
"""Records of a validator in an epoch."""
HOPS = (0, 1, 5, COMMIT_BY, 13, 18, VOTE_BY, WEIGHTS_AT, 34, 60, 165, 169, 200)
"""Blocks behind the end of an epoch at which all are waited for.

A row whose call was lost can land for 128 blocks, and is sent again behind them.
"""
FEEDS = (60, 200)
_MOST_FLUSHED = 12
"""Maximum number of epochs behind the last with records until each has been in a batch."""
BATCH = b"GET /peer/v1/batch/"
CALLS = {"publishing": "commit", "voting": "commit", "submitting": "submit_row"}
PLACES = {
    0: ("publishing, lost", "publishing, landed", "freezing"),
    5: ("pulling", "pulling, begun", "serving a batch"),
    COMMIT_BY: ("voting, lost", "voting, landed"),
    VOTE_BY: ("closing", "closing", "closed", "closed"),
    WEIGHTS_AT: ("submitting, lost", "submitting, landed", "submitted"),
    34: ("watching the row",),
    60: ("taking records", "taking a file"),
    165: ("waiting",),
}
"""Places of kills, by the hop at which they are met."""


@attrs.frozen
class Kill:
    """A kill that is to come.

    Attributes:
        epoch: behind whose end.
        hop: at which block behind it.
        who: the place of the validator.
        place: where.
        seconds: its delay.
        down: hops until the validator is begun again.
    """

    epoch: int
    hop: int
    who: int
    place: str
    seconds: float
    down: int


def kills(chance: random.Random, epochs: Iterable[int], number: int, houses: int) -> list[Kill]:
    """Kills at random places, one of a validator in an epoch at most."""
    chosen = chance.sample([(epoch, who) for epoch in epochs for who in range(houses)], number)
    places = [(hop, place) for hop, several in PLACES.items() for place in several]
    made = list[Kill]()
    for index, (epoch, who) in enumerate(sorted(chosen)):
        if index % len(places) == 0:
            chance.shuffle(places)
        hop, place = places[index % len(places)]
        down = chance.choice((0, 0, 0, 0, 1, 3, len(HOPS)))
        made.append(Kill(epoch, hop, who, place, chance.uniform(0, 0.3), down))
    return made


@attrs.define
class Story:
    """A run of a subnet.

    Attributes:
        subnet: the chain and its validators.
        chance: of the seed.
        kills: those to come.
        adopts_at: the epoch that begins under other rules; None: none does.
        late: the epoch whose end one validator misses; None: none.
        cut: the epochs in which another is cut off from its peers.
        away: the epochs in which a third is down.
        again: the share of those that are begun again and killed while they begin.
    """

    subnet: Subnet
    chance: random.Random
    kills: list[Kill]
    adopts_at: int | None = None
    late: int | None = None
    cut: range = range(0)
    away: range = range(0)
    again: float = 0.1
    pending: dict[str, list[bytes]] = attrs.field(factory=dict)
    sent: set[tuple[str, str]] = attrs.field(factory=set)
    due: set[tuple[str, int]] = attrs.field(factory=set)
    stays_down: dict[int, int] = attrs.field(factory=dict)
    files: int = 0

    @property
    def houses(self) -> list[House]:
        """The validators."""
        return self.subnet.houses

    def run(self, epochs: int, flush: int = 2) -> None:
        """Go through epochs, and some more without records and kills, until all is counted."""
        for house in self.houses:
            house.begin()
        for house in self.houses:
            house.wait_ready()
        self.subnet.to(ANCHOR + 5)
        self._feed(0)
        for epoch in itertools.count():
            # a batch that half of them did not have in time goes with the next one
            if epoch >= epochs + flush and (not self._waits() or epoch > epochs + _MOST_FLUSHED):
                break
            feeds = epoch + 1 < epochs
            for hop in HOPS:
                self._incidents(epoch, hop)
                self._hop(epoch, hop)
                if hop in FEEDS and feeds:
                    self._feed(epoch + 1, kill=self._kill_at(epoch, hop))
                elif hop in FEEDS and epoch + 1 < epochs + flush:
                    self._rest()
                self._revive()
            self._expect_rows(epoch)
        assert not any(self.pending.values())

    def _waits(self) -> bool:
        """Tell whether records wait for a batch that counts."""
        return any(house.health()["facts"].get("records_waiting") for house in self.houses)

    # one hop

    def _kill_at(self, epoch: int, hop: int) -> list[Kill]:
        return [kill for kill in self.kills if (kill.epoch, kill.hop) == (epoch, hop)]

    def _hop(self, epoch: int, hop: int) -> None:
        end = self.subnet.network.end_block(epoch)
        planned = [] if hop in FEEDS else self._kill_at(epoch, hop)
        for kill in planned:
            if self.houses[kill.who].is_alive:
                self._arm(kill, end)
        self.subnet.to(end + hop)
        for kill in planned:
            self._finish(kill)

    def _finish(self, kill: Kill) -> None:
        """Kill what did not come to the place."""
        house = self.houses[kill.who]
        house.kill("at rest")
        self.stays_down.setdefault(kill.who, kill.down)

    def _arm(self, kill: Kill, end: int) -> None:
        """Have a validator killed where it meets the place."""
        house, place, act = self.houses[kill.who], kill.place, self.houses[kill.who].kill
        name, _, how = place.partition(", ")
        if name == "closed":
            house.on_event["closed an epoch"] = lambda: _later(kill, act)
        elif name == "closing":
            # the last read before it: the others of the epoch are kept
            house.trap(place, f"neurons {end + VOTE_BY}", kill.seconds)
        elif name in CALLS:
            when = "before" if how == "lost" else "after"
            house.trap(place, f"{CALLS[name]} {when}")
        elif name == "submitted":
            house.trap(place, f"{CALLS['submitting']} after", kill.seconds / 10)
        elif name in {"pulling", "serving a batch"}:
            wires = house.to_it if name == "serving a batch" else house.peers.values()
            is_begun = how == "begun"
            for wire in wires:
                seconds = kill.seconds / 10 if is_begun else 0
                wire.arm(Trap(place, BATCH, act, answer=None if is_begun else 400, seconds=seconds))
        else:
            _later(kill, act)

    def _revive(self) -> None:
        """Begin those again that were down for long enough."""
        for who, house in enumerate(self.houses):
            if house.bury():
                hops = self.stays_down.get(who, 0)
                if hops > 0:
                    self.stays_down[who] = hops - 1
                    continue
                self.stays_down.pop(who, None)
                house.begin()
                if self.chance.random() < self.again:
                    _later(Kill(0, 0, who, "starting", self.chance.uniform(0, 2), 0), house.kill)
            elif who in self.stays_down:
                del self.stays_down[who]

    # what happens

    def _incidents(self, epoch: int, hop: int) -> None:
        late, cut, away = range(len(self.houses))
        if epoch == self.late and hop == 0:
            self._down(late, 4)
        if hop == 0 and epoch == self.away.start and self.away:
            self._down(away, len(HOPS) * len(self.away))
        modes: dict[tuple[int, int], Mode] = {
            (self.cut.start, 0): "refuse",
            (self.cut.start + 1, COMMIT_BY): "hang",
            (self.cut.start + 1, 13): "refuse",
            (self.cut.stop, 0): "open",
        }
        mode = modes.get((epoch, hop)) if self.cut else None
        if mode == "open":
            # it has not closed what it lacks batches of, and says so
            self._check_cut_off(self.houses[cut], self.cut.start)
        if mode is not None:
            self.subnet.cut_off(cut, mode)
        if self.adopts_at is not None:
            for who, house in enumerate(self.houses):
                if (epoch, hop) == (max(0, self.adopts_at - 2 - 2 * who), 60):
                    _adopt(house, self.adopts_at)
            if (epoch, hop) == (self.adopts_at + 1, WEIGHTS_AT):
                # a uid is taken over: a row has the uids of the moment at which it is sent, so it
                # happens when none of the epoch before can be sent any more
                uid = 1
                self.subnet.chain.do("register", netuid=NETUID, hotkey=MINERS[-1] + "x", uid=uid)

    def _down(self, who: int, hops: int) -> None:
        self.houses[who].kill("to be away")
        self.houses[who].bury()
        self.stays_down[who] = hops

    def _check_cut_off(self, house: House, epoch: int) -> None:
        if house.is_alive:
            assert house.open_epoch() == epoch, house.tell()
            problems = house.health()["problems"]
            failing = {problem["code"] for problem in problems if problem["failing"]}
            assert "batch-missing" in failing, house.tell()

    def _expect_rows(self, epoch: int) -> None:
        """Note whose row of an epoch must be on the chain: whose daemon has closed it in time."""
        for house in self.houses:
            if house.is_alive and house.open_epoch() > epoch:
                self.due.add((house.hotkey, epoch))

    # records

    def _feed(self, epoch: int, kill: Iterable[Kill] = ()) -> None:
        """Have records of an epoch taken: by three ways, in another order for each validator."""
        at = {item.who: item for item in kill}
        for who, house in enumerate(self.houses):
            rows = records(house.hotkey, epoch, RECORDS)
            fresh = [row for row in rows if (house.hotkey, row["task_id"]) not in self.sent]
            # half of them now, the rest with the next feed
            if len(fresh) == RECORDS and epoch:
                fresh = self.chance.sample(fresh, RECORDS // 2)
            self.sent |= {(house.hotkey, row["task_id"]) for row in fresh}
            pending = self.pending.setdefault(house.hotkey, [])
            pending += lines(fresh)
            self.chance.shuffle(pending)
            if not house.is_alive:
                continue
            ways: list[Callable[[list[bytes]], list[str]]] = [
                house.by_socket,
                house.by_post,
                lambda rows, house=house: self._by_folder(house, rows),  # type: ignore[misc]
            ]
            self.chance.shuffle(ways)
            item = at.get(who)
            if item is not None and item.place == "taking records":
                number = self.chance.randrange(len(pending) or 1)
                self._send(house, lambda rows, n=number, h=house: h.by_socket(rows, n))  # type: ignore[misc]
            elif item is not None:
                _later(item, house.kill)
            for way in ways:
                self._send(house, way, len(pending) // 2 or 1)
            if item is not None:
                self.subnet.settle()
                self._finish(item)

    def _rest(self) -> None:
        """Send what is left."""
        for house in self.houses:
            pending = self.pending[house.hotkey]
            if house.is_alive and pending:
                house.wait_ready()
                statuses = house.by_socket(pending)
                assert {*statuses} <= {"recorded", "duplicate"}, statuses
                del pending[: len(statuses)]

    def _send(
        self, house: House, way: Callable[[list[bytes]], list[str]], most: int | None = None
    ) -> None:
        pending = self.pending[house.hotkey]
        rows = pending[:most]
        for row, status in zip(rows, way(rows), strict=False):
            assert status in {"recorded", "duplicate"}, (status, row)
            # some are sent again, as after an answer that was lost
            if self.chance.random() < 0.9:
                pending.remove(row)

    def _by_folder(self, house: House, rows: list[bytes]) -> list[str]:
        self.files += 1
        if rows:
            house.by_folder(f"{self.files:04}", rows)
        return ["recorded"] * len(rows)

    # the end

    def check(self, epochs: int) -> dict[str, object]:
        """Check what must be true, and tell what was measured."""
        houses = self.houses
        for house in houses:
            assert house.end() == 0, house.tell()
        assert len({house.digest() for house in houses}) == 1
        every = range(epochs)
        assert len({tuple(house.snapshots_of(every)) for house in houses}) == 1
        for epoch in every:
            told = set[str]().union(*(house.snapshots.get(epoch, set()) for house in houses))
            assert told <= {houses[0].snapshots_of([epoch])[0]}, (epoch, told)
        held = [tasks(house.exported()) for house in houses]
        for counts in held:
            assert not self.sent - counts.keys(), sorted(self.sent - counts.keys())[:9]
            assert counts.keys() == self.sent
            assert set(counts.values()) == {1}
        self._check_rows()
        return {
            "deaths": dict(sum((house.deaths for house in houses), Counter[str]())),
            "records": len(self.sent),
        }

    def _check_rows(self) -> None:
        rows = self.subnet.rows()
        for house in self.houses:
            of_house = rows[house.hotkey]
            for epoch, entries in of_house.items():
                assert len(entries) == 1, (house.name, epoch, entries)
            lacking = {epoch for hotkey, epoch in self.due if hotkey == house.hotkey} - {*of_house}
            assert not lacking, (house.name, lacking, house.tell())
        for epoch in {epoch for of_house in rows.values() for epoch in of_house}:
            sent = [of_house[epoch][0] for of_house in rows.values() if epoch in of_house]
            assert len({entry.pairs for entry in sent}) == 1, (epoch, sent)
            is_new = self.adopts_at is not None and epoch >= self.adopts_at
            assert {entry.version_key for entry in sent} == {1_002_000 if is_new else 1_001_000}


def _later(kill: Kill, act: Callable[[str], None]) -> None:
    timer = threading.Timer(kill.seconds, act, (kill.place,))
    timer.daemon = True
    timer.start()


def _adopt(house: House, epoch: int) -> None:
    hidden = house.folder / "adoptions" / ".new"
    hidden.write_text(f'format = 1\n[adoption]\nrules = "{ADOPTED}"\nat_epoch = {epoch}\n')
    hidden.replace(house.folder / "adoptions" / "second.toml")
