"""Strategies of miners under a rule set, made-up networks, and what these pay."""
