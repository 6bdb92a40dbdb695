"""Hold every error that this package raises. A message says what was wrong and what to do.

EngramError
|-- InvalidInput (ValueError)          what the caller sent cannot be used: exit code 2
|   |-- MissingUser                    no user was named
|   |-- InvalidMessages                a message, role, date or size that cannot be kept
|   |-- UnreadableFile (OSError)       a file that is missing or is not what it should be
|   |-- UnknownPreset (LookupError)    no preset of that name
|   |-- UnknownModel (LookupError)     no model of that name
|   `-- InvalidSetting                 a number or a name out of its bounds
|-- StoreError (RuntimeError)          the store could not do it: exit code 1
|   |-- StoreLocked (TimeoutError)     another process holds the embedded store
|   |-- StoreUnwritable (OSError)      the folder cannot be written
|   |-- StoreUnreachable (ConnectionError)  the Chroma server does not answer
|   |-- StoreFailed                    Chroma could not do it this time: it may pass
|   `-- EncoderMismatch (ValueError)   the store's vectors were made by another encoder
|-- NotAllowed (PermissionError)       a memory of somebody else was asked for
|-- MissingExtra (ImportError)         a package that only some doors need is not installed
|-- EncoderUnavailable (RuntimeError)  weights or a package are missing, or differ from what they should be
|-- CompressorUnavailable (RuntimeError)  what shortens texts lacks its weights or a package
|-- RerankerUnavailable (RuntimeError)  what orders evidence anew lacks its weights or a package
`-- ModelUnavailable (ConnectionError) the language model cannot be built or reached
"""


class EngramError(Exception):
    """The root of every error of this package."""


class InvalidInput(EngramError, ValueError):
    """What the caller sent cannot be used."""


class MissingUser(InvalidInput):
    """No user was named, and memory never guesses whose it is."""


class InvalidMessages(InvalidInput):
    """A message, role, date or size that cannot be kept."""


class UnreadableFile(InvalidInput, OSError):
    """A file that is missing or is not what it should be."""


class UnknownPreset(InvalidInput, LookupError):
    """No preset of that name."""


class UnknownModel(InvalidInput, LookupError):
    """No model of that name."""


class InvalidSetting(InvalidInput):
    """A number or a name out of its bounds."""


class StoreError(EngramError, RuntimeError):
    """The store could not do what was asked."""


class StoreLocked(StoreError, TimeoutError):
    """Another process holds the embedded store."""


class StoreUnwritable(StoreError, OSError):
    """The folder of the embedded store cannot be written."""


class StoreUnreachable(StoreError, ConnectionError):
    """The Chroma server does not answer."""


class StoreFailed(StoreError):
    """Chroma could not do what was asked this time, for a reason that may pass."""


class EncoderMismatch(StoreError, ValueError):
    """The store's vectors were made by another encoder."""


class NotAllowed(EngramError, PermissionError):
    """A memory of somebody else was asked for."""


class MissingExtra(EngramError, ImportError):
    """A package that only some doors need is not installed."""


class EncoderUnavailable(EngramError, RuntimeError):
    """Weights or a package are missing, or are not the ones they should be."""


class CompressorUnavailable(EngramError, RuntimeError):
    """Weights or a package of what shortens texts are missing, or are of another kind."""


class RerankerUnavailable(EngramError, RuntimeError):
    """Weights or a package of what orders evidence anew are missing, or are of another kind."""


class ModelUnavailable(EngramError, ConnectionError):
    """The language model cannot be built or reached."""
