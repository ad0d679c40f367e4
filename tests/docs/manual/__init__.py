"""The pages for people: their blocks, tables and links, and a reader who does what they say."""
