"""Renderers: a report goes to text on a given stream."""
