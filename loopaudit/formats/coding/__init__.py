"""Agents that people run on their own machine: one reader a file, helpers named after it."""
