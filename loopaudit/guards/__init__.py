"""Guards: presets as data, and policies that compare counts with thresholds and name actions."""
