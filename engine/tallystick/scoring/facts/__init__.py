"""Facts of records as columns: taken once, kept in a file, scored under any rule set."""
