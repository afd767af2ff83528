"""Stored forecasts."""

import numpy as np

from service_tools import make_service, rows_of, run_steps
from subcast.service import stored
from subcast.service.schema import forecasts


def test_a_row_gives_back_every_bit(plant, series):
    service = make_service(plant, clock="feed")
    run_steps(service, series, 1300, 1310)
    row = rows_of(service, forecasts)[-1]
    found = stored.from_row(row, service.wrapper.variables)
    version = service.versions.present
    again = stored.to_row(found.made, version, found.used, found.flags)
    assert all(again[name] == getattr(row, name) for name in again)
    assert found.used.shape == (6, 6)
    with service.database.read() as connection:
        assert stored.variables_of(connection, row.version) == service.wrapper.variables
        assert stored.variables_of(connection, "x") == ()
        assert stored.latest(connection, {}).time == row.time
    past = found.past
    assert past.level == 0.9
    assert (past.lower <= past.mean).all()
    service.close()


def test_used_readings_of_few_sensors_are_unpacked_right():
    used = np.zeros((6, 3), dtype=bool)
    used[5, 2] = used[0, 1] = True
    bits = np.unpackbits(np.frombuffer(np.packbits(used, axis=None).tobytes(), dtype=np.uint8))
    assert (bits[: 6 * 3].reshape(-1, 3).astype(bool) == used).all()
