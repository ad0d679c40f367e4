"""Answers for machines: JSON under ``/api/v1``, health and metrics."""

from tallystick_service.api.epochs import ROUTES as EPOCHS
from tallystick_service.api.rules import ROUTES as RULES
from tallystick_service.api.scoring import ROUTES as SCORING
from tallystick_service.api.service import ROUTES as SERVICE
from tallystick_service.api.state import ROUTES as STATE
from tallystick_service.route import Route

ROUTES: tuple[Route, ...] = (*SERVICE, *STATE, *EPOCHS, *RULES, *SCORING)
"""The rows of all answers for machines."""
