"""The methods give what the wrapper and the models give."""

import numpy as np
import pytest

from experiments.examples import small_cells
from subcast.evaluation import wrapped
from subcast.experiments.methods import make_method
from subcast.experiments.study import Context


@pytest.mark.parametrize(
    "options",
    [{}, {"neighbors": 2}, {"weighting": "uniform"}, {"weighting": "distance", "exponent": 1.0}, {"temperature": 10.0}],
)
def test_weightings_that_share_forecasts_give_what_the_wrapper_gives(options, study):
    _, cells = small_cells("figure-neighbors")
    context = Context(cells[0], study)
    present = context.draws()[1]
    make_method(context, "fdw", neighbors=7)(context.test, present)  # more neighbors than are asked for below
    expected = wrapped(study.paper_with(**options))(context.test, present)
    np.testing.assert_allclose(make_method(context, "fdw", **options)(context.test, present), expected, rtol=1e-5)


def test_the_query_table_with_wide_ranges_is_the_direct_search(study):
    _, cells = small_cells("table-scalable")
    context = Context(cells[0], study)
    present = context.draws()[0]
    wide = make_method(context, "scalable", neighbor=len(study.paper.fitted_.bank))(context.test, present)
    np.testing.assert_allclose(wide, make_method(context, "fdw")(context.test, present), rtol=1e-5)


def test_a_hardened_model_is_run_as_partial_is(study):
    _, cells = small_cells("table-main")
    context = Context(cells[0], study)
    present = context.draws()[0]
    hidden = context.test.batch().inputs.copy()
    hidden[:, :, np.setdiff1d(np.arange(20), present)] = np.nan  # must not matter
    expected = study.trained("hardened").predict(hidden, present=present)[:, :, present]
    forecast = make_method(context, "hardened")(context.test, present)
    np.testing.assert_allclose(forecast, expected, rtol=1e-5)
    assert not np.allclose(forecast, make_method(context, "partial")(context.test, present))
