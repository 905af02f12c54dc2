"""Replay: runs through guards, hindsight on what was recorded, and the worker pool."""
