"""The bodies of requests and answers."""

import pytest
from pydantic import ValidationError

from subcast.service import models


def test_unknown_fields_are_refused():
    with pytest.raises(ValidationError, match="Extra inputs"):
        models.OverrideRequest(sensor="a", flag=4, colour="red")


def test_every_model_has_a_schema():
    kinds = [kind for kind in vars(models).values() if isinstance(kind, type) and issubclass(kind, models.BaseModel)]
    assert len(kinds) > 20
    assert all("properties" in kind.model_json_schema() for kind in kinds if kind.model_fields)
