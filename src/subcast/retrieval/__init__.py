"""The nearest past windows, compared on the variables that are present.

>>> import numpy as np
>>> from subcast.retrieval import WindowBank
>>> bank = WindowBank(np.random.default_rng(0).normal(size=(1000, 20)), lookback=12)
>>> bank.nearest(bank.windows([7]), variables=[2, 3, 5], k=1).index
array([[7]])
"""

from subcast.retrieval.bank import WindowBank
from subcast.retrieval.moments import LagMoments, MomentSums
from subcast.retrieval.neighbors import Neighbors
from subcast.retrieval.protocol import Bank
from subcast.retrieval.sharding.bank import ShardedBank
from subcast.retrieval.sharding.writer import ShardWriter
from subcast.retrieval.sliding import Stream
from subcast.retrieval.table import QueryTable, TableAnswer

__all__ = [
    "Bank",
    "LagMoments",
    "MomentSums",
    "Neighbors",
    "QueryTable",
    "ShardWriter",
    "ShardedBank",
    "Stream",
    "TableAnswer",
    "WindowBank",
]
