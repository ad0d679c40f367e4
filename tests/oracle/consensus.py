"""The consensus of a group, from its seven components or as given; and whose work is run again."""

from collections.abc import Mapping
from fractions import Fraction
from hashlib import sha256
from typing import Any

from oracle.decimals import fact, published

#: Hundredths. Terms that live on other pages, "consensus weights".
WEIGHTS = {
    "findings_recall": 30,
    "findings_precision": 15,
    "verdict_agreement": 15,
    "capabilities_agreement": 15,
    "risk_agreement": 10,
    "dependencies_agreement": 10,
    "policy_agreement": 5,
}


def combine(consensus: float | Mapping[str, float]) -> Fraction:
    """The published consensus of a record that has one."""
    if not isinstance(consensus, Mapping):
        return fact(consensus)
    weighed = (fact(consensus[name]) * weight for name, weight in WEIGHTS.items())
    return published(sum(weighed, Fraction(0)) / 100)


def band(consensus: Fraction | str) -> str:
    """Pass, weak or fail: reputation.txt, "Update Rules"."""
    score = Fraction(consensus)
    if score >= Fraction("0.7"):
        return "pass"
    return "weak" if score >= Fraction("0.4") else "fail"


def rerun(
    group: Mapping[str, Any], components: Mapping[str, Mapping[str, str]], seed: str, *, up: bool
) -> list[str]:
    """CONSENSUS.md, "Signals"; E77 and E78. `up` is how half of the valid members is made whole.

    The components are those of the valid members, as text, by hotkey.
    """
    valid = [each for each in group["members"] if each["hotkey"] in components]
    diverging = {
        hotkey
        for hotkey, found in components.items()
        if Fraction(found["verdict_agreement"]) < Fraction(3, 5)
        or Fraction(found["findings_recall"]) < Fraction(1, 2)
    }
    primaries = [each["hotkey"] for each in valid if each["role"] == "primary"]
    apart = [hotkey for hotkey in primaries if hotkey in diverging]
    half = (len(valid) + 1) // 2 if up else len(valid) // 2
    if apart or len(diverging) >= max(1, half):
        return apart or primaries
    tickets = {_ticket(group, seed, each): each for each in primaries or [*components]}
    return [tickets[min(tickets)]]


def _ticket(group: Mapping[str, Any], seed: str, hotkey: str) -> bytes:
    data = b"tallystick/rerun-draw/1" + group["round"].to_bytes(8, "big")
    for text in map(str.encode, (seed, group["skill_type"], group["task_id"])):
        data += len(text).to_bytes(8, "big") + text
    return sha256(data + hotkey.encode()).digest()
