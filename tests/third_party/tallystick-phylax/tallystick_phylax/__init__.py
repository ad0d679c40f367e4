"""The scores and the weights of Phylax, as a plugin of Tallystick."""
