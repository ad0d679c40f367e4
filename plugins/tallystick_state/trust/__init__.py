"""Who may decide: keys, signed statements, the trust file that names them, and proofs."""
