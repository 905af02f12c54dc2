"""Spans and runs of tracing systems, made into conversations again."""
