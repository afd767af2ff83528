"""`subcast serve` before it serves."""

import pytest
from typer.testing import CliRunner

from subcast.cli import app
from subcast.commands.serve import add_key, run_service
from subcast.errors import DataNotFoundError, InputError
from subcast.service.security import Keys


def test_a_new_key_is_shown_once(tmp_path):
    file = tmp_path / "keys.toml"
    result = CliRunner().invoke(app, ["serve", str(tmp_path), "--new-key", "feeder:write", "--keys", str(file)])
    assert result.exit_code == 0
    key = result.stdout.strip().splitlines()[-1]
    assert Keys(file).check(f"Bearer {key}", "write") == "feeder"
    assert key not in file.read_text()


@pytest.mark.parametrize("text", ["feeder", "feeder:king", ":"])
def test_wrong_new_keys(tmp_path, text):
    with pytest.raises(InputError):
        add_key(tmp_path / "keys.toml", text)
    with pytest.raises(InputError, match="give --keys"):
        add_key(None, "a:read")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"host": "0.0.0.0"}, "there are no keys"),
        ({"workers": 4}, "need PostgreSQL"),
        ({"log_level": "loud"}, "--log-level"),
        ({"clock": "moon"}, "clock must be"),
        ({"database": "mysql://x"}, "--database"),
    ],
)
def test_what_cannot_be_served_is_said_in_a_sentence(tmp_path, options, sentence):
    (tmp_path / "wrapper.json").write_text("{}")
    settings = {"host": "127.0.0.1", "port": 0, **options}
    with pytest.raises(InputError, match=sentence):
        run_service(tmp_path, **settings)


def test_a_folder_without_a_wrapper(tmp_path):
    with pytest.raises(DataNotFoundError, match="holds no wrapper"):
        run_service(tmp_path, host="127.0.0.1", port=0)
