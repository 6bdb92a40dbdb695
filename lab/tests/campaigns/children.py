"""What campaigns run in processes of their own."""

import json
import os
import sys


def start(do):
    """Run in a child process, and return its id. What goes wrong there is printed."""
    child = os.fork()
    if child:
        return child
    status = 1
    try:
        do()
        status = 0
    finally:
        if status:
            sys.excepthook(*sys.exc_info())
        os._exit(status)


def in_child(work):
    """Run a function in a process of its own; return what it returns, or None where it took the process with it."""
    read, write = os.pipe()

    def answer():
        os.close(read)
        with open(write, "w") as pipe:
            json.dump(work(), pipe)

    child = start(answer)
    os.close(write)
    with open(read) as pipe:
        returned = pipe.read()
    return json.loads(returned) if os.waitpid(child, 0)[1] == 0 else None


def main(campaign):
    """Run a campaign of so many trials with a seed, and print the figures; the status is 1 if anything went wrong."""
    figures = campaign(int(sys.argv[1]), int(sys.argv[2]))
    sys.stdout.write(json.dumps(figures, indent=1) + "\n")
    sys.exit(bool(figures["wrong"]))
