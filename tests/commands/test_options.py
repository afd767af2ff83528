"""The options of the command line."""

from subcast.commands.options import MODEL_NAMES
from subcast.forecasters import FORECASTERS


def test_model_names_are_those_of_the_forecasters():
    assert tuple(FORECASTERS) == MODEL_NAMES
