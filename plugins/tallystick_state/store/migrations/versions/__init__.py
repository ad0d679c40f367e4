"""The versions of the schema, from the first release on; a released one never changes."""
