"""What is too old is removed."""

import time

from service_tools import make_service, rows_of, run_steps
from subcast.service.feed import IdempotencyKey
from subcast.service.retention import prune
from subcast.service.schema import forecasts, readings, receipts, scores, steps


def test_readings_and_forecasts_have_their_own_age(plant, series):
    service = make_service(plant, clock="feed", keep_readings=0.15, keep_forecasts=0.1)
    run_steps(service, series, 1300, 1340)
    service.prune()
    last = rows_of(service, steps)[-1].time
    hours = [(last - min(row.time for row in rows_of(service, table))) / 3.6e12 for table in (readings, forecasts)]
    assert 3 < hours[0] <= 3.6
    assert 2 < hours[1] <= 2.4
    assert len(rows_of(service, scores)) == len(rows_of(service, forecasts))
    run_steps(service, series, 1340, 1342)
    service.close()


def test_without_an_age_everything_is_kept_but_old_keys(plant, series):
    service = make_service(plant, clock="feed")
    from service_tools import readings_of, send

    send(service, readings_of(series, 1300, 1302), IdempotencyKey("k", "c"))
    far = time.time_ns() + 8 * 86400 * 10**9
    assert prune(service.database, 0, far, readings_days=None, forecasts_days=None) == 0
    assert rows_of(service, receipts)[0].key is None
    assert len(rows_of(service, readings)) == 12
    service.close()
