"""Our own event lines: read, written, and their JSON Schema."""
