"""What measured tables of the notebooks and times in docs/: each is run by hand, from the course's folder."""
