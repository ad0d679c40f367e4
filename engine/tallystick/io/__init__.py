"""Files: read line by line or as tables, cut into chunks, written whole or not at all."""
