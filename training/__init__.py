"""Scripts that make the weights shipped with the package. The package imports nothing of them."""

if __name__ != "training":
    raise ImportError(f"import training, not {__name__}: a second copy's classes would not be ours")
