"""The roles of miners in a round."""

from __future__ import annotations

from typing import Literal

Role = Literal["primary", "auditor"]
Roles = tuple[Role, ...]
