"""A memory that behaves as its name says; the tests start it as a process."""

import sys
import time

from engram_peers.serve import serve


class Peer:
    """Finds every message, unless it is to fail."""

    def __init__(self, _):
        self.held = {}

    def remember(self, user, messages):
        match sys.argv[1]:
            case "hangs":
                time.sleep(600)
            case "dies":
                sys.stderr.write("out of paper\n")
                sys.exit(3)
            case "raises":
                raise ValueError("no pen")
            case "hoards":
                self.paper = b"x" * 2**29
                time.sleep(600)
            case "forgets":
                return 0
        sys.stdout.write("a memory may print what it likes\n")
        self.held[user] = [{"text": message["text"], "ids": [message["id"]]} for message in messages]
        return len(messages)

    def search(self, user, asked, tokens):
        found = self.held[user] if tokens else self.held[user][:1]
        return [{"text": passage["text"], "ids": []} for passage in found] if sys.argv[1] == "mute" else found

    def close(self):
        """Nothing is held."""


if __name__ == "__main__":
    serve(Peer, "pytest")
