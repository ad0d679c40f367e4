"""The steps of an allocation: a module for each family, a class for each step."""
