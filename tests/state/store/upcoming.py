"""The version of a store that is to come: one table more than this engine knows."""

import shutil
from pathlib import Path

import pytest

from tallystick_state.store import schema

NEXT = f"{int(schema.REVISION) + 1:04}"
SCRIPT = f"""
import sqlalchemy as sa
from alembic import op

revision = "{NEXT}"
down_revision = "{schema.REVISION}"


def upgrade() -> None:
    op.create_table("tallystick_more", sa.Column("id", sa.Integer, primary_key=True))
"""


def upcoming_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make this the engine of the next version; gives its newest migration."""
    # a percent sign, since configuration files give it a meaning
    folder = tmp_path / "50% migrations"
    shutil.copytree(schema.FOLDER, folder, ignore=shutil.ignore_patterns("__pycache__"))
    migration = folder / "versions" / f"v{NEXT}_more.py"
    migration.write_text(SCRIPT)
    monkeypatch.setattr(schema, "FOLDER", folder)
    monkeypatch.setattr(schema, "REVISION", NEXT)
    return migration
