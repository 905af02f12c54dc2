"""Messages as the model APIs take and give them, and logs of requests and responses."""
