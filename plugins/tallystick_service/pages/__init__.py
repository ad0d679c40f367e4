"""Pages for people: miners, rules, a playground and the network."""

from tallystick_service.route import Route

ROUTES: tuple[Route, ...] = ()
"""The rows of all pages."""
