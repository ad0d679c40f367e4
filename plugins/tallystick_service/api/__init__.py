"""Answers for machines: JSON under ``/api/v1``, health and metrics."""

from tallystick_service.api import epochs, rules, scoring, service, state
from tallystick_service.route import routes_in

ROUTES = routes_in(service, state, epochs, rules, scoring)
"""The rows of all answers for machines."""
