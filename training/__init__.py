"""Making the weights that ship with the package. Nothing imports this."""
