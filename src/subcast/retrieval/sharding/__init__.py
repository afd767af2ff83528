"""A bank in files: stretches of time as Parquet, searched in this process or by the workers of a Dask cluster."""
