"""What the tests of the kernels share: hard cases, an oracle, and one digest of all results."""
