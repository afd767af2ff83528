"""The options of the command line."""

import importlib

from subcast.commands import options
from subcast.forecasters import FORECASTERS


def test_the_help_lists_the_registered_models(monkeypatch):
    monkeypatch.setitem(FORECASTERS, "drift", object)
    try:
        reloaded = importlib.reload(options)
        assert "mtgnn, astgcn, mstgcn, lstnet, tcn or drift" in reloaded.TrainModel.__metadata__[0].help
        assert "tcn or drift" in reloaded.FitModel.__metadata__[0].help
    finally:
        monkeypatch.undo()
        importlib.reload(options)
    assert "lstnet or tcn." in options.TrainModel.__metadata__[0].help
