"""Chain: what a subnet's chain says at a block, and the rows of weights that it is given."""
