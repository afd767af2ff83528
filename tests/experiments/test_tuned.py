"""FDW with settings chosen on validation windows: the choice of plain loops over the wrapper."""

from itertools import product

import numpy as np
import pytest

from experiments.examples import small_cells
from subcast.comparison import Comparison
from subcast.evaluation import wrapped
from subcast.experiments.measures import make_measure
from subcast.experiments.methods import make_method
from subcast.experiments.study import Context
from subcast.experiments.tuned import TUNING_SEED, tune_fdw
from subcast.subsets import draw_subsets

GRIDS = {"exponent": (0.5, 2.0), "temperature": (0.01, 10.0), "neighbors": (1, 3, 7)}
WINDOWS, DRAWS = 9, 2


@pytest.fixture
def context(study, monkeypatch):
    monkeypatch.setattr("subcast.experiments.tuned.GRIDS", GRIDS)
    _, cells = small_cells("table-tuned")
    return Context(cells[0], study)


def choose_by_loops(study):
    """Run the wrapper with every combination of settings, and add up the errors one by one."""
    windows = study.validation_windows(WINDOWS)
    best, least = None, np.inf
    for exponent, temperature, m in product(*GRIDS.values()):
        robust = study.paper_with(exponent=exponent, temperature=temperature, neighbors=m)
        of_draws = []
        for draw in draw_subsets(study.n, share=0.15, draws=DRAWS, seed=TUNING_SEED):
            present = np.sort(draw)
            forecast, errors = wrapped(robust)(windows, present), []
            for window, truth in enumerate(windows.targets[:, 11]):
                for position, variable in enumerate(present):
                    if not np.isnan(truth[variable]):
                        errors.append(abs(forecast[window, 11, position] - truth[variable]))
            of_draws.append(sum(errors) / len(errors))
        mean = sum(of_draws) / len(of_draws)
        if mean < least:
            best, least = {"exponent": exponent, "temperature": temperature, "neighbors": m}, mean
    return best, least


def test_the_settings_with_the_smallest_validation_error_are_chosen(context):
    chosen = tune_fdw(context, WINDOWS, DRAWS)
    settings, error = choose_by_loops(context.study)
    assert chosen["settings"] == settings
    assert chosen["validation_mae"] == pytest.approx(error, rel=1e-5)
    assert (chosen["tried"], chosen["validation_draws"]) == (12, DRAWS)


def test_the_method_forecasts_with_the_chosen_settings(context):
    method = make_method(context, "fdw-tuned", windows=WINDOWS, draws=DRAWS)
    present = context.draws()[0]
    expected = wrapped(context.study.paper_with(**method.chosen["settings"]))(context.test, present)
    np.testing.assert_allclose(method(context.test, present), expected, rtol=1e-5)


def test_the_draws_for_tuning_are_not_those_of_the_test(context):
    tested = {tuple(draw) for draw in context.draws(draws=100)}
    assert not tested & {tuple(draw) for draw in draw_subsets(140, share=0.15, draws=10, seed=TUNING_SEED)}


def test_the_record_has_the_chosen_settings(context):
    measure = make_measure(context)
    results = [measure.run(unit) for unit in range(measure.units)]
    figures = measure.summary(results)
    assert set(figures["chosen"]) == {"fdw-tuned"}
    assert figures["chosen"]["fdw-tuned"]["settings"].keys() == GRIDS.keys()
    assert list(Comparison.from_record(figures["tallies"]["15%"]).tallies) == ["oracle", "fdw", "fdw-tuned"]
