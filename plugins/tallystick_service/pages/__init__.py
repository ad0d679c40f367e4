"""Pages for people: miners, rules, a playground and the network."""

from tallystick_service.pages import home, miner, miners, network, rules, scoring
from tallystick_service.route import routes_in

ROUTES = routes_in(home, miners, miner, scoring, rules, network)
"""The rows of all pages."""
