import json

import numpy as np


def test_a_table_says_what_its_flags_are(hourly):
    screener, test = hourly
    rows = test.values.copy()
    rows[40:100, 2] = rows[40, 2]
    rows[120, 0] = 999999
    rows[130, 1] = np.nan
    screened = screener.screen(type(test)(rows, test.variables, test.times, freq="h"))
    counts = screened.counts()
    assert sum(counts.values()) == rows.size
    assert counts["missing"] == 1
    (stuck,) = (each for each in screened.episodes if each.sensor == "s2" and each.state == "stuck")
    assert stuck.start == test.times[40]
    assert stuck.found > stuck.start
    assert test.times[100] <= stuck.end < test.times[130]
    assert np.isnan(screened.values[41:100, 2]).all()  # also those before it was found
    assert np.isnan(screened.values[120, 0])
    assert screened.frame.shape == rows.shape
    assert screened.frame["s0"].iloc[120] == 4
    record = json.loads(json.dumps(screened.to_dict()))
    assert record["flags"]["bad"] == counts["bad"]
    assert "1 missing" not in repr(screened)
    assert "6 sensors" in repr(screened)
