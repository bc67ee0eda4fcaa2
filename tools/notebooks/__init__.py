"""What writes the notebooks and reads them: for maintainers who change one, and teachers who hand one out."""
