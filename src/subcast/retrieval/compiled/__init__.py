"""The compiled kernels of the searches."""
