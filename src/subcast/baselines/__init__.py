"""Baselines: those of the paper, and simple methods of today.

Imputers fill in the absent variables before the model runs (`imputed` combines a model and an imputer); the others
forecast S without a model. All are fitted on the training windows, by `fit`, and none imports torch.

>>> import numpy as np
>>> from subcast.baselines import LastValue, LinearForecaster
>>> from subcast.evaluation import evaluate
>>> from subcast.series import Series
>>> train, _, test = Series(np.random.default_rng(0).normal(size=(300, 4)).cumsum(axis=0)).split(3, 2)
>>> methods = {"oracle": LinearForecaster.fit(train), "last value": LastValue.fit(train)}
>>> evaluate(methods, test, [np.array([1, 2])], progress=False).mae["last value"].shape
(1, 2)
"""

from subcast.baselines.base import Imputer, imputed
from subcast.baselines.calendar_linear import CalendarLinear
from subcast.baselines.iim import IIMImputer
from subcast.baselines.knne import KNNEImputer
from subcast.baselines.linear import LinearForecaster
from subcast.baselines.neighbor_forecast import NeighborForecast
from subcast.baselines.own_past import OwnPast
from subcast.baselines.profile_ridge import ProfileRidge
from subcast.baselines.ridge import RidgeImputer
from subcast.baselines.scikit import ScikitImputer
from subcast.baselines.simple import LastValue, SeasonalNaive
from subcast.baselines.usual import UsualValue

__all__ = [
    "CalendarLinear",
    "IIMImputer",
    "Imputer",
    "KNNEImputer",
    "LastValue",
    "LinearForecaster",
    "NeighborForecast",
    "OwnPast",
    "ProfileRidge",
    "RidgeImputer",
    "ScikitImputer",
    "SeasonalNaive",
    "UsualValue",
    "imputed",
]
