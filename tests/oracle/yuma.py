"""The chain's epoch in plain Python integers: lists, dictionaries, one number after the other.

Written from a description of the sparse path of subtensor, and held by the vectors that the chain's
own code computed (`tests/vectors/yuma.json`). It takes a case as it is, and is what the columns of
the engine are compared with, for what they give and for how fast they are.
"""

from collections.abc import Mapping, Sequence
from typing import Any

ONE = 1 << 32
DEFAULTS: dict[str, Any] = {
    "kappa": 32767,
    "bonds_penalty": 65535,
    "bonds_moving_average": 900000,
    "yuma3": False,
    "liquid_alpha": False,
    "alpha_low": 45875,
    "alpha_high": 58982,
    "alpha_sigmoid_steepness": 1000,
    "max_validators": 64,
    "stake_threshold": 0,
    "tempo": 360,
    "activity_cutoff": 5000,
    "last_step_block": 0,
    "owner_uid": None,
    "commit_blocks": None,
    "tao": None,
    "tao_weight": 0,
}

Row = list[tuple[int, int]]
Json = dict[str, Any]


def mul(a: int, b: int) -> int:
    """A product, saturated."""
    return max(-(1 << 63), min((1 << 63) - 1, (a * b) >> 32))


def div(a: int, b: int) -> int:
    """A quotient toward zero; 0 where there is none."""
    if b == 0:
        return 0
    quotient = (abs(a) << 32) // abs(b)
    if (a < 0) != (b < 0):
        quotient = -quotient
    return quotient if -(1 << 63) <= quotient < 1 << 63 else 0


def exp(x: int) -> int:
    """The series of 31 terms."""
    x = max(-20 * ONE, min(20 * ONE, x))
    if x == 0:
        return ONE
    if x == ONE:
        return 22802600 << 9
    a = abs(x)
    total, term = ONE + a, a
    for i in range(2, 32):
        term = ((term * a) >> 32) // i
        total += term
    return total if x > 0 else (1 << 64) // total


def norm(values: Sequence[int]) -> list[int]:
    """Each divided by the sum of all."""
    total = sum(values)
    return [div(x, total) for x in values] if total else list(values)


def u16(x: int) -> int:
    """A proportion of 65535."""
    return max(0, min(65535, (x * 65535) >> 32))


def proportion(value: int) -> int:
    """A number of a proportion of 65535."""
    return (value << 32) // 65535


def alpha_of(w: int, b: int, c: int, low: int, high: int, steepness: int) -> int:  # noqa: PLR0913, PLR0917  # of the chain
    """The alpha of one bond."""
    distance = max(0, min(ONE, (w - c) if w >= b else (b - w)))
    slope = div(steepness * ONE, -100 * ONE)
    sigmoid = div(ONE, ONE + exp(mul(slope, distance - ONE // 2)))
    return max(low, min(high, low + mul(sigmoid, high - low)))


def median(stakes: Sequence[int], scores: Sequence[int], kappa: int) -> int:
    """The halving of the voters, as the chain does it."""
    voters, total = list(range(len(stakes))), sum(stakes)
    low, high, minority = 0, total, total - kappa
    if not voters:
        return 0
    while len(voters) > 1:
        pivot = scores[voters[len(voters) // 2]]
        below = [i for i in voters if scores[i] < pivot]
        above = [i for i in voters if scores[i] > pivot]
        under, over = sum(stakes[i] for i in below), sum(stakes[i] for i in above)
        if below and minority < low + under:
            voters, high = below, low + under
        elif above and high - over <= minority:
            voters, low = above, high - over
        else:
            return pivot
    return scores[voters[0]]


def by_column(rows: Sequence[Row], many: int) -> list[Row]:
    """Each column divided by its sum."""
    sums = [0] * many
    for row in rows:
        for uid, value in row:
            sums[uid] += value
    return [[(uid, div(x, sums[uid]) if sums[uid] else x) for uid, x in row] for row in rows]


def averaged(new: Sequence[Row], old: Sequence[Row], alpha: int) -> list[Row]:
    """The moving average with one alpha."""
    found = []
    for fresh, held in zip(new, old, strict=True):
        cells: dict[int, int] = {}
        for uid, value in fresh:
            cells[uid] = cells.get(uid, 0) + mul(alpha, value)
        for uid, value in held:
            cells[uid] = cells.get(uid, 0) + mul(ONE - alpha, value)
        found.append([(uid, cells[uid]) for uid in sorted(cells) if cells[uid] > 0])
    return found


def scanned(row: Row) -> dict[int, int]:
    """A row as the chain reads it for an alpha: what follows a larger uid is not seen."""
    seen: dict[int, int] = {}
    furthest = -1
    for uid, value in row:
        if uid >= furthest:
            seen[uid], furthest = value, uid
    return seen


def liquid(target: Sequence[Row], old: Sequence[Row], consensus: list[int], get: Any) -> list[Row]:  # noqa: ANN401  # looks a parameter up
    """The moving average with an alpha for each weight."""
    low, high = proportion(get("alpha_low")), proportion(get("alpha_high"))
    steepness, found = get("alpha_sigmoid_steepness"), []
    for row, held in zip(target, old, strict=True):
        weights, bonds, all_bonds = scanned(row), scanned(held), dict(held)
        new = []
        for uid, value in row:
            w, b = weights.get(uid, 0), bonds.get(uid, 0)
            alpha = alpha_of(w, b, consensus[uid], low, high, steepness)
            x = min(ONE, mul(ONE - alpha, all_bonds.get(uid, 0)) + mul(alpha, value))
            if x > 0:
                new.append((uid, x))
        found.append(new)
    return found


def weight_rows(given: Json, permits: Sequence[bool], get: Any) -> list[Row]:  # noqa: ANN401  # as above
    """The weights that count, each row normalised."""
    owner, commits, found = get("owner_uid"), get("commit_blocks"), []
    # who is beyond the list has set none
    updated, registered = [*given["last_update"], *[0] * given["n"]], given["registered"]
    for i in range(given["n"]):
        row = []
        if i < len(permits) and permits[i]:
            for j, w in given["weights"][i]:
                if i == j and i != owner:
                    continue
                if updated[i] <= registered[j]:
                    continue
                if commits and commits[i] is not None and commits[i] < registered[j]:
                    continue
                row.append((j, w * ONE))
        total = sum(w for _, w in row)
        found.append([(j, div(w, total)) for j, w in row] if total else row)
    return found


def targets(weights: list[Row], clipped: list[Row], penalty: int) -> list[Row]:
    """The weights that bonds follow."""
    if penalty == 0:
        return weights
    if penalty == 65535:
        return clipped
    rate, found = proportion(penalty), []
    for row, cut in zip(weights, clipped, strict=True):
        limits, cells = dict(cut), []
        for uid, w in sorted(row):
            x = w + mul(rate, limits.get(uid, 0) - w)
            if x > 0:
                cells.append((uid, x))
        found.append(cells)
    return found


def epoch(params: Mapping[str, Any], given: Json) -> Json:  # noqa: PLR0915  # one flow
    """The outputs of one epoch, by the keys of the vectors."""

    def get(key: str) -> Any:  # noqa: ANN401  # any parameter
        return given.get(key, params.get(key, DEFAULTS.get(key)))

    n, block, owner = given["n"], given["block"], get("owner_uid")
    root_weight = ((get("tao_weight") << 32) // ((1 << 64) - 1)) << 32
    roots = get("tao") or [0] * n
    held = [(a << 64) + t * root_weight for a, t in zip(given["alpha"], roots, strict=True)]
    held = [x if x >> 64 >= get("stake_threshold") or i == owner else 0 for i, x in enumerate(held)]
    everything = sum(held)
    stake = [((x << 64) // everything if everything else x) >> 32 for x in held]
    active = [last + get("activity_cutoff") >= block for last in given["last_update"][:n]]
    active += [False] * (n - len(active))
    awake = active if given["last_update"] else [True] * n
    permits = list(given["permits"])
    if owner is not None and owner < len(permits):
        permits[owner] = True
    richest = sorted((i for i in range(n) if stake[i]), key=lambda i: (stake[i], i), reverse=True)
    permitted = {*richest[: get("max_validators")], *([] if owner is None else [owner])}
    allowed = [not permits or (i < len(permits) and permits[i]) for i in range(n)]
    active_stake = norm([stake[i] if awake[i] and allowed[i] else 0 for i in range(n)])

    weights = weight_rows(given, permits, get)
    cells = [dict(row) for row in weights]
    voters = [i for i in range(n) if active_stake[i] > 0]
    votes = norm([active_stake[i] for i in voters])
    kappa = proportion(get("kappa"))
    consensus = [median(votes, [cells[i].get(j, 0) for i in voters], kappa) for j in range(n)]
    clipped = [
        [(j, min(w, consensus[j])) for j, w in row if not (w > 0 and consensus[j] <= 0)]
        for row in weights
    ]
    trust = [sum(w for _, w in row) for row in clipped]
    ranks = [0] * n
    for i, row in enumerate(clipped):
        for j, w in row:
            ranks[j] += mul(active_stake[i], w)
    incentive = norm(ranks)

    target = targets(weights, clipped, get("bonds_penalty"))
    last = get("last_step_block")
    since = last + 1 if last else max(0, block - get("tempo"))
    old = [[(j, b) for j, b in row if given["registered"][j] < since] for row in given["bonds"]]
    alpha = ONE - (get("bonds_moving_average") << 32) // 10**6
    if get("yuma3"):
        before = [[(j, proportion(b)) for j, b in row] for row in old]
        if get("liquid_alpha") and any(consensus):
            bonds = liquid(target, before, consensus, get)
        else:
            bonds = averaged(target, before, alpha)
        stored = [[[j, u16(b)] for j, b in row] for row in bonds]
        earned = [
            mul(sum(mul(b, incentive[j]) for j, b in row), active_stake[i])
            for i, row in enumerate(by_column(bonds, n))
        ]
    else:
        new = [[(j, mul(z, active_stake[i])) for j, z in row] for i, row in enumerate(target)]
        before = by_column([[(j, b * ONE) for j, b in row] for row in old], n)
        bonds = by_column(averaged(by_column(new, n), before, alpha), n)
        earned = [sum(mul(b, incentive[j]) for j, b in row) for row in bonds]
        largest = [0] * n
        for row in bonds:
            for j, b in row:
                largest[j] = max(largest[j], b)
        stored = [[[j, u16(div(b, largest[j]) if largest[j] else b)] for j, b in r] for r in bonds]
    dividends = norm(earned)
    combined = [a + b for a, b in zip(incentive, dividends, strict=True)]
    if total := sum(combined):
        server, validator, both = (
            [div(x, total) for x in column] for column in (incentive, dividends, combined)
        )
    else:
        server = [0] * n
        validator = both = active_stake if sum(active_stake) else stake
    amounts = [
        [max(0, (x * given["emission"]) >> 32) for x in column]
        for column in (both, server, validator)
    ]
    return {
        "stake_weight": [u16(x) for x in stake],
        "active": active,
        "consensus": [u16(x) for x in consensus],
        "validator_trust": [u16(x) for x in trust],
        "incentive": [u16(x) for x in incentive],
        "dividends": [u16(x) for x in dividends],
        "emission": amounts[0],
        "server_emission": amounts[1],
        "validator_emission": amounts[2],
        "bonds": [row if i in permitted else [] for i, row in enumerate(stored)],
        "permits": [i in permitted for i in range(n)],
        "raw": {
            "stake": stake,
            "active_stake": active_stake,
            "consensus": consensus,
            "validator_trust": trust,
            "incentive": incentive,
            "dividends": dividends,
        },
    }


def steps_of(case: Json) -> list[Json]:
    """The outputs of each step of a case."""
    found: list[Json] = []
    weights = None
    for step in case["steps"]:
        given = dict(step["input"])
        if found:
            given.setdefault("bonds", found[-1]["bonds"])
            given.setdefault("permits", found[-1]["permits"])
            given.setdefault("weights", weights)
        weights = given["weights"]
        found.append(epoch(case.get("params", {}), given))
    return found
