"""Guards: presets as data, and the policies that compare counts with thresholds and name actions."""
