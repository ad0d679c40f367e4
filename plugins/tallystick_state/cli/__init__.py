"""The commands of states, signatures and audits: a module a group of them."""
