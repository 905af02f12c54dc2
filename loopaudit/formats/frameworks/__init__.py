"""Agent frameworks: what their own loggers and state dumps hold."""
