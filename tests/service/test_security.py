"""Keys, roles and rates."""

import stat

import pytest

from subcast.errors import InputError
from subcast.service.problems import ProblemError
from subcast.service.security import HEADERS, Keys, RateLimit, new_key, role_needed


@pytest.fixture
def file(tmp_path):
    return tmp_path / "keys.toml"


def test_only_the_hash_is_kept(file):
    key = new_key(file, "feeder", "write")
    assert key not in file.read_text()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert Keys(file).check(f"Bearer {key}", "write") == "feeder"


@pytest.mark.parametrize(
    ("role", "needed", "status"),
    [("write", "read", 403), ("write", "admin", 403), ("read", "write", 403), ("read", "read", None),
     ("admin", "read", None), ("admin", "write", None), ("admin", "admin", None)],
)  # fmt: skip
def test_roles(file, role, needed, status):
    key = new_key(file, "k", role)
    if status is None:
        assert Keys(file).check(f"bearer {key}", needed) == "k"
        return
    with pytest.raises(ProblemError, match=f"role {needed}") as caught:
        Keys(file).check(f"Bearer {key}", needed)
    assert caught.value.status == status


@pytest.mark.parametrize("header", [None, "", "Bearer", "Bearer ", "Basic abc", "Bearer wrong", "Bearer \u00e9"])
def test_without_the_key_nothing_is_answered(file, header):
    new_key(file, "k", "admin")
    with pytest.raises(ProblemError) as caught:
        Keys(file).check(header, "read")
    assert caught.value.status == 401
    assert caught.value.headers["WWW-Authenticate"] == "Bearer"


def test_keys_can_be_added_and_removed_while_it_runs(file):
    first = new_key(file, "one", "read")
    keys = Keys(file)
    second = new_key(file, "two", "read")
    assert keys.check(f"Bearer {second}", "read") == "two"
    lines = file.read_text()
    file.write_text(lines[lines.index("[[keys]]", 5) :])
    with pytest.raises(ProblemError, match="not known"):
        keys.check(f"Bearer {first}", "read")
    file.write_text("broken [")
    assert keys.check(f"Bearer {second}", "read") == "two"


@pytest.mark.parametrize(
    "content",
    ["", "keys = 1", "[[keys]]\nname = 'a'", "[[keys]]\nname='a'\nroles=['king']\nsha256='x'", "x ="],
)
def test_files_that_make_no_sense(file, content):
    file.write_text(content)
    with pytest.raises(InputError, match="--keys"):
        Keys(file)


def test_wrong_new_keys(file):
    with pytest.raises(InputError, match="role"):
        new_key(file, "a", "king")
    with pytest.raises(InputError, match="plain text"):
        new_key(file, 'a"b', "read")
    new_key(file, "a", "read")
    with pytest.raises(InputError, match="choose another name"):
        new_key(file, "a", "read")
    with pytest.raises(InputError, match="does not exist"):
        Keys(file.with_name("nothing"))


@pytest.mark.parametrize(
    ("method", "path", "role"),
    [("GET", "/", None), ("GET", "/page/page.js", None), ("GET", "/metrics", "read"), ("GET", "/v1/sensors", "read"),
     ("POST", "/v1/forecast", "read"), ("POST", "/v1/what-if", "read"), ("POST", "/v1/readings", "write"),
     ("GET", "/v1/readings", "read"), ("DELETE", "/v1/maintenance/3", "admin"), ("POST", "/v1/refresh", "admin"),
     ("GET", "/v1/maintenance", "read"), ("DELETE", "/v1/overrides", "admin")],
)  # fmt: skip
def test_the_role_of_each_address(method, path, role):
    assert role_needed(method, path) == role


def test_a_client_that_waits_may_send_again():
    now = [0.0]
    limit = RateLimit(2.0, now=lambda: now[0])
    assert [limit.wait("a") > 0 for _ in range(5)] == [False] * 4 + [True]
    assert limit.wait("b") == 0
    now[0] = 0.5
    assert limit.wait("a") == 0
    assert limit.wait("a") == pytest.approx(0.5)
    assert RateLimit(None).wait("a") == 0


def test_the_memory_of_clients_is_bounded():
    limit = RateLimit(1.0)
    for client in range(20_000):
        limit.wait(str(client))
    assert len(limit._tokens) <= 10_000


def test_nothing_is_loaded_from_elsewhere():
    assert "default-src 'none'" in HEADERS["Content-Security-Policy"]
    assert "unsafe" not in HEADERS["Content-Security-Policy"]
