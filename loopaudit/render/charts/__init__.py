"""Charts: numbers of a report as figures, and the same numbers as a table."""
