"""Generated requests to every address of the service (make test-service-fuzz): no answer may be a 5xx.

SUBCAST_FUZZ is the number of requests for each address (100 if it is 1).
"""

import os

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import content_type_conformance, response_schema_conformance

from service_tools import NAMES, fit_wrapper, last_reading, make_series, readings_of, run_steps
from subcast.service.app import create_app

CASES = int(os.environ["SUBCAST_FUZZ"]) if os.environ["SUBCAST_FUZZ"] != "1" else 100


@pytest.fixture(scope="session")
def app(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fuzz") / "plant"
    series = make_series()
    fit_wrapper(series).save(folder)
    app = create_app(folder, model=last_reading, rate=None, clock="feed")
    service = app.state.service
    run_steps(service, series, 1300, 1310)
    run_steps(service, series, 1310, 1318, NAMES[:4])
    assert readings_of(series, 0, 1)
    yield app
    service.close()


def check(operation, mode):
    """Send generated requests to one address."""

    @settings(max_examples=CASES, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(case=operation.as_strategy(generation_mode=mode))
    def send(case):
        counts[operation.label] = counts.get(operation.label, 0) + 1
        response = case.call()
        case.validate_response(
            response, checks=(not_a_server_error, content_type_conformance, response_schema_conformance)
        )

    send()


counts: dict[str, int] = {}


def test_no_request_breaks_the_service(app):
    schema = schemathesis.openapi.from_asgi("/openapi.json", app)
    operations = [result.ok() for result in schema.get_all_operations()]
    assert len(operations) > 25
    failures = []
    for operation in operations:
        for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):
            try:
                check(operation, mode)
            except Unsatisfiable:
                pass  # an address without parameters has no wrong ones
            except BaseException as error:
                failures.append(f"{operation.label} ({mode.name}): {error}")
    print(f"{sum(counts.values())} requests to {len(counts)} operations")
    assert not failures, "\n\n".join(failures)
