"""From facts to axes, composite, tier and emission: for one record, and for columns of them."""
