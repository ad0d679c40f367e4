"""The sections of rule sets that a state works by, a module each: values, checks, `Section`."""
