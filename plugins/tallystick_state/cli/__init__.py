"""The commands of states, signatures and audits: one module a command or a group of them."""
