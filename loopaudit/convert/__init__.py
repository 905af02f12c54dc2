"""Logs written anew: our own lines or Parquet, ATIF for exchange; redacted by default."""
