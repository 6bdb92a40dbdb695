"""Serve what the doors for agents share: whose memory it is, what was newly said, and how memory is shown."""
