"""What callers and data sets send, turned into our messages."""
