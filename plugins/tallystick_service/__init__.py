"""Service: pages and answers over HTTP about a state, for miners and for machines."""
