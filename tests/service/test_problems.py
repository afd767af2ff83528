"""Errors as problem+json."""

import pytest

from subcast.service.problems import TITLES, ProblemError, response, shown


@pytest.mark.parametrize("kind", TITLES)
def test_every_kind_has_a_status_and_503_says_when_to_retry(kind):
    answer = response(ProblemError(kind, "what to do"))
    assert answer.status_code == TITLES[kind][0]
    assert ("retry-after" in answer.headers) == (answer.status_code in (429, 503))


def test_what_users_send_is_shown_safely():
    assert shown("\ud800") == "'\\ud800'"
    assert len(shown("x" * 1000)) < 70
