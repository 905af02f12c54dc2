"""The gate for CI: limits, a baseline, and what changed against it."""
