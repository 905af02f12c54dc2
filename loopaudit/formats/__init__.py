"""Formats: one file a log format. A format turns records into pieces and knows nothing else."""
