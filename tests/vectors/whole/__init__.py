"""What answers the vectors of something whole."""
