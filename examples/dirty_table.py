"""A table as it comes from the field, and what becomes of it.

Run: python examples/dirty_table.py
"""

import tempfile
import warnings
from pathlib import Path

import subcast as sc

FIELD = """when,north,south,east
2024-03-01 00:10,3.1,2.9,ERR
2024-03-01 00:00,3.0,2.8,1.0
2024-03-01 00:20,3.3,inf,1.2
2024-03-01 00:20,3.4,,1.3
2024-03-01 00:50,3.9,3.5,1.6
"""

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "field.csv"
    path.write_text(FIELD)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        series = sc.Series.read(path)

print(series)
print("said:", *(str(warning.message) for warning in said))
print(series.to_frame())
