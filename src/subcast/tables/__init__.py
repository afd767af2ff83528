"""From any table of readings to a clean one: files and frames in, a regular numeric table out.

`files` and `hdf5` read a file into a frame, `frames` turns a frame into a numeric table, `grid` puts its
times on a regular grid. Whatever is repaired on the way is noted in the table and said in one warning.
"""

from subcast.tables.clean import Table, clean_table
from subcast.tables.files import read_table
from subcast.tables.frames import frame_to_table

__all__ = ["Table", "clean_table", "frame_to_table", "read_table"]
