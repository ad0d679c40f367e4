"""Pages for people: miners, rules, a playground and the network."""

from tallystick_service.pages import miner, rules
from tallystick_service.route import Route

ROUTES: tuple[Route, ...] = (*miner.ROUTES, *rules.ROUTES)
"""The rows of all pages."""
