"""``docs/canonical.md`` leaves out nothing that a digest covers."""

from manual.page import Page

from tallystick_state.entries import KINDS
from tallystick_state.event_log import RANKS
from tallystick_state.replay import FLAGS
from tallystick_state.rules import GENESIS


def test_every_kind_of_entry_of_the_log_is_documented() -> None:
    kinds = {FLAGS, GENESIS, *KINDS, *RANKS}
    assert kinds == set(Page.of("docs/canonical.md").section("The log").first_cells()) - {"kind"}
