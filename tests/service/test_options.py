"""Options of the service."""

from pathlib import Path

import pytest

from subcast.errors import InputError
from subcast.service.options import Options, check_address


def test_options_survive_json():
    options = Options(Path("plant"), rate=None, keep_readings=3.0, keys=Path("keys.toml"))
    assert Options.from_json(options.to_json()) == options


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"clock": "sundial"}, "auto, wall, feed"),
        ({"deadline": 0}, "above 0"),
        ({"batch": 0}, "at least 1"),
        ({"webhook": "ftp://x"}, "http://"),
        ({"workers": 4}, "PostgreSQL"),
        ({"workers": 0}, "at least 1"),
    ],
)
def test_wrong_options_are_refused(given, sentence):
    with pytest.raises(InputError, match=sentence):
        Options(Path("plant"), **given)


def test_several_workers_on_postgres():
    assert Options(Path("plant"), "postgresql://host/name", workers=4).is_postgres


def test_an_open_address_needs_keys():
    check_address("127.0.0.1", None)
    check_address("0.0.0.0", Path("keys.toml"))
    with pytest.raises(InputError, match="no keys"):
        check_address("0.0.0.0", None)
