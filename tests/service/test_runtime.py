"""The running service."""

from service_tools import last_reading
from subcast.service.options import Options
from subcast.service.runtime import Service


def test_defaults_follow_the_rate(plant):
    service = Service(Options(plant), last_reading)
    assert service.late_steps == 144
    assert service.deadline == 300
    service.close()
    assert plant.with_suffix(".sqlite3").exists()
