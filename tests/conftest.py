"""What holds for all tests: no example of a property is judged by its time, which is the machine's and not ours."""

from hypothesis import settings

settings.register_profile("engram", deadline=None)
settings.load_profile("engram")
