"""``docs/exchange.md`` has every code and every address."""

import re

from manual.page import Page

from tallystick_chain.network import Network
from tallystick_validator import batches, exchange, peers
from tallystick_validator.ballots import MAX_COMMITMENT_BYTES, UID_LIMIT

PAGE = Page.of("docs/exchange.md")


def rows(section: str) -> dict[str, str]:
    """The codes of the last table of a section, with their meanings."""
    text = PAGE.text.partition(f"## {section}\n")[2].partition("\n## ")[0]
    return dict(re.findall(r"^\| `([a-z-]+)` \| (.+) \|$", text, re.MULTILINE))


def test_every_code_has_its_meaning() -> None:
    assert {code: rows("A batch")[code] for code in batches.CODES} == dict(batches.CODES)
    codes = re.findall(r"^``([a-z-]+)`` +(.+)$", exchange.__doc__ or "", re.MULTILINE)
    assert rows("When states part") == dict(codes)
    assert not dict(codes).keys() & batches.CODES.keys()


def test_every_address_is_there() -> None:
    named = re.findall(r"^\| `(/peer/v1/\w+)", PAGE.text, re.MULTILINE)
    source = re.findall(r"^``(/\w+)", peers.__doc__ or "", re.MULTILINE)
    assert named == [f"{peers.PREFIX}{path}" for path in source]


def test_the_sizes_are_those_of_a_ballot() -> None:
    assert f"at most {MAX_COMMITMENT_BYTES} bytes" in PAGE.text
    assert f"uids below {UID_LIMIT}" in PAGE.text
    assert f"0 to {UID_LIMIT // 8}" in PAGE.text


def test_the_network_file_reads_its_numbers() -> None:
    table = PAGE.text.partition("```toml\n")[2].partition("```")[0]
    head = (
        'format = 1\n[network]\nname = "demo"\nnetuid = 7\nanchor_block = 1000\n'
        "[rounds]\nblocks = 60\n[epochs]\nrounds = 6\n"
    )
    network = Network.parse(f"{head}{table}[weights]\nat = 60\n", "network.toml")
    assert network.exchange is not None
    assert (network.exchange.commit_by, network.exchange.vote_by) == (20, 40)
    assert network.exchange.hear == "permit"
