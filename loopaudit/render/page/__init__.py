"""The report as one self-contained page: no network, no build step."""
