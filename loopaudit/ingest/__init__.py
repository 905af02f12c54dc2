"""Ingest: find, open, decompress, read lines, salvage; remove duplicates; group into runs."""
