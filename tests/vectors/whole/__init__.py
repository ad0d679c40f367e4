"""The inputs of the vectors that `generate` makes, with what answers them."""
