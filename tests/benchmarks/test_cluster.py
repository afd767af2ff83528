"""The record of the cluster: its tables are those of the guide, and what is on paper follows from what was measured."""

import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks.scripts import script

cluster = script("cluster")
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def figures():
    return json.loads((ROOT / "results" / "cluster.json").read_text())["figures"]


def test_the_guide_has_the_tables_of_the_record(figures):
    assert cluster.tables(figures) in (ROOT / "docs" / "guide" / "cluster.md").read_text()


def test_what_is_on_paper_follows_from_the_record(figures):
    assert cluster.on_paper(figures) == figures["on_paper"]


def test_bytes_read_are_in_proportion_to_s(figures):
    for row in figures["bytes"]["sizes_of_s"]:
        assert row["share_of_files"] == pytest.approx(row["share_of_variables"], abs=0.01)


def test_the_plain_bank_has_the_readings_of_the_shards(tmp_path):
    cluster.write(tmp_path / "bank", 3_000, steps=1_000)
    shards, plain = cluster.sc.ShardedBank(tmp_path / "bank"), cluster.plain_bank(3_000)
    windows = cluster.queries(3_000, 5)
    cluster.agree(plain.nearest(windows, cluster.PRESENT, 4), shards.nearest(windows, cluster.PRESENT, 4))
    assert np.array_equal(shards.starts, plain.starts)
    other = plain.nearest(windows + 1, cluster.PRESENT, 4)
    with pytest.raises(SystemExit, match="do not agree"):
        cluster.agree(plain.nearest(windows, cluster.PRESENT, 4), other)
