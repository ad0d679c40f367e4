"""``tallystick records``: the commands on records that plugins bring."""

from __future__ import annotations

import click

from tallystick.cli.open_group import OpenGroup


@click.group(cls=OpenGroup, path=("records",))
def records() -> None:
    """Generate records."""
