"""A model trained on a known S: its own scaler, its own graph, its own windows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from subcast.experiments.context import Context, split_data
from subcast.training import TrainConfig, train


def train_on(context: Context, present: NDArray[np.int64], epochs: int | None) -> NDArray[np.float32]:
    """Train the cell's kind of model on S alone and forecast the cell's test windows of S, [b, h, s]."""
    split = split_data(context.study.series.select(present), context.cell.dataset)
    dataset, seed = context.cell.dataset, context.cell.seed
    config = TrainConfig.paper(dataset, seed=seed) if context.cell.scale == "full" else TrainConfig(seed=seed)
    config = replace(config, progress=False)
    if epochs is not None:
        config = replace(config, epochs=int(epochs))
    model = train(context.cell.model, split.train, split.val, config)
    test = split.test[:: context.cell.every]
    return np.concatenate([model(batch.inputs) for batch in test.batches(256)])
