"""Validator: the daemon that closes rounds and epochs by the chain's blocks, and sets weights."""
