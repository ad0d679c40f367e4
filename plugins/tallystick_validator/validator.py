"""The validator: the loop from the chain's blocks to closed epochs, checkpoints and rows of weights.

`Validator` is the value that programs embed, `tallystick.Validator`: ``await validator.step()`` does
everything that is due at the finalized block; ``await validator.run()`` steps until it is stopped.
Work on the state is done in one thread, calls of the chain in another, the agreement in a third.
"""
