"""Making the weights that ship with the package. Nothing imports this."""

if __name__ != "training":
    raise ImportError(f"import training, not {__name__}: a second copy's classes would not be ours")
