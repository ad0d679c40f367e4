"""Commands for the service."""
