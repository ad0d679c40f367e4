"""A chain in memory that refuses as a real one does; it also runs as a process for several."""
