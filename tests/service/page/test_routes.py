"""The page as the service sends it."""

import pytest

from subcast.service.page.files import CONTENT_POLICY, page_files


@pytest.mark.parametrize("path", sorted(page_files()))
def test_every_file_is_served_with_its_policy(client, path):
    answer = client.get(path)
    assert answer.status_code == 200
    assert answer.content == page_files()[path].content
    assert answer.headers["content-security-policy"] == CONTENT_POLICY
    assert answer.headers["content-type"] == page_files()[path].content_type
    assert "access-control-allow-origin" not in answer.headers


def test_a_browser_that_has_a_file_gets_it_only_when_it_changed(client):
    tag = client.get("/page/page.js").headers["etag"]
    again = client.get("/page/page.js", headers={"If-None-Match": tag})
    assert (again.status_code, again.content) == (304, b"")
    assert client.get("/page/page.js", headers={"If-None-Match": '"other"'}).status_code == 200
    assert client.head("/").status_code == 200


def test_nothing_else_is_served(client):
    for path in ("/page/", "/page/files.py", "/page/../files.py", "/page/nothing.js"):
        assert client.get(path).status_code == 404


def test_the_page_is_not_part_of_the_api(client):
    assert not [
        path
        for path in client.get("/openapi.json").json()["paths"]
        if not path.startswith(("/v1", "/health", "/ready", "/metrics"))
    ]
