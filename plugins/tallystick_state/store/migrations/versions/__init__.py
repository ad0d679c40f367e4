"""The versions of the schema, from the first on; a version that was released never changes."""
