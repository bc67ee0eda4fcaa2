"""Word vectors: the course's own, trained and judged, and Stanford's, fetched: for `make vectors` and `make glove`."""
