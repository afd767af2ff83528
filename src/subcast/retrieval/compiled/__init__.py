"""Numba kernels of the searches."""
