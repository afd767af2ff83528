"""The running service."""

import sqlalchemy as sa

from service_tools import make_service, rows_of, run_steps
from subcast.service.schema import events, scores


def test_defaults_follow_the_rate(plant):
    service = make_service(plant)
    assert service.late_steps == 144
    assert service.deadline == 300
    service.close()
    assert plant.with_suffix(".sqlite3").exists()


def test_an_aged_model_is_told_once_a_day(plant, series):
    service = make_service(plant, clock="feed")
    run_steps(service, series, 1300, 1308)
    assert service.look_at_age() is None
    with service.database.write() as connection:
        row = connection.execute(sa.select(scores).order_by(scores.c.time.desc()).limit(1)).one()
        bad = {**row._mapping}
        bad["shares"] = bad["shares"].replace('"error": ', '"error": 9')
        for number in range(1, 120):
            connection.execute(scores.insert().values(**{**bad, "time": row.time + number}))
    assert "larger than validation" in service.look_at_age()
    service.look_at_age()
    assert [row.kind for row in rows_of(service, events)] == ["aged"]
    service.close()


def test_it_can_be_closed_before_it_started(plant):
    service = make_service(plant)
    assert service.newest() is None
    service.close()
