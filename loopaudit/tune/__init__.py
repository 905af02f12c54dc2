"""Advice on thresholds per task type, from the user's own runs."""
