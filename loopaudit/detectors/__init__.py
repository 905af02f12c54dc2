"""Detectors: one file a family. A detector counts; it knows no threshold, format or screen."""
