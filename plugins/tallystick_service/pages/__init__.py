"""Pages for people: miners, rules, a playground and the network."""

from tallystick_service.pages import home, miner, miners, network, rules, scoring
from tallystick_service.route import Route

ROUTES: tuple[Route, ...] = (
    *home.ROUTES,
    *miners.ROUTES,
    *miner.ROUTES,
    *scoring.ROUTES,
    *rules.ROUTES,
    *network.ROUTES,
)
"""The rows of all pages."""
