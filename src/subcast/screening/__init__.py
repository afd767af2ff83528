"""Is this reading believable? Tests of readings in the field's terms (QARTOD), learned from training data."""

from subcast.screening.feed import Feed, ScreenedStep
from subcast.screening.health import Health
from subcast.screening.screened import Episode, Screened
from subcast.screening.screener import Screener

__all__ = ["Episode", "Feed", "Health", "Screened", "ScreenedStep", "Screener"]
