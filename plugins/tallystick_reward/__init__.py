"""The type of one number a miner, as a plugin of Tallystick (docs/bittensor.md)."""
