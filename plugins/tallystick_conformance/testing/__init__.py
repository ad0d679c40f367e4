"""Made-up records: random ones, boundary values, samples of a type, histories of a network."""
