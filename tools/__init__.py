"""What makes the course, in rooms by who calls them; each tool is called from the course's folder by `python -m`."""
