"""Answers for machines: JSON under ``/api/v1``, health and metrics."""

from tallystick_service.api.service import ROUTES as SERVICE
from tallystick_service.api.state import ROUTES as STATE
from tallystick_service.route import Route

ROUTES: tuple[Route, ...] = (*SERVICE, *STATE)
"""The rows of all answers for machines."""
