"""TrainConfig: the paper's preset, the curriculum, and bad values."""

import pytest

from subcast.errors import InputError
from subcast.training import TrainConfig
from subcast.training.config import curriculum_level


class TestConfig:
    def test_paper(self):
        config = TrainConfig.paper("ecg5000", seed=3)
        assert (config.epochs, config.patience, config.curriculum, config.schedule, config.seed) == (
            100,
            None,
            400,
            "constant",
            3,
        )
        assert (config.batch_size, config.learning_rate, config.weight_decay, config.clip) == (64, 1e-3, 1e-4, 5.0)
        with pytest.raises(InputError, match="dataset must be one with a published curriculum"):
            TrainConfig.paper("clouds")

    @pytest.mark.parametrize(("iterations", "horizon"), [(1, 12), (10, 12), (36, 12), (37, 12), (5500, 12), (100, 1)])
    def test_default_curriculum_ends_by_30_per_cent(self, iterations, horizon):
        steps = TrainConfig().curriculum_steps(iterations, horizon)
        first_full = next(i for i in range(1, iterations + 1) if curriculum_level(i, steps, horizon) == horizon)
        assert first_full <= max(1, 0.3 * iterations)

    @pytest.mark.parametrize(
        "bad",
        [
            {"epochs": 0},
            {"epochs": 2.5},
            {"batch_size": True},
            {"learning_rate": 0.0},
            {"clip": -1.0},
            {"weight_decay": -1.0},
            {"schedule": "steps"},
            {"device": "tpu"},
            {"patience": 0},
            {"curriculum": -1},
            {"variable_dropout": 1.0},
            {"variable_dropout_least": 0.1},
            {"variable_dropout_least": -0.1},
        ],
    )
    def test_bad_values_are_rejected(self, bad):
        with pytest.raises(InputError, match=f"{next(iter(bad))} must be"):
            TrainConfig(**bad)
