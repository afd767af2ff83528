"""What cells of one model share, and its variants."""

import pytest

from experiments.examples import small_cells
from subcast.experiments.measures import make_measure
from subcast.experiments.methods import make_method
from subcast.experiments.study import Context, Study, open_data, split_data, variant_changes
from subcast.subset.fitted import Fitted


def test_cells_of_one_study_pay_for_a_forecast_once(study, monkeypatch):
    study.tallies.clear()
    study.completions.clear()
    passes, tallies = [], []
    run, windows_run = Fitted.run, []

    def counting(self, inputs, wanted=None):
        windows_run.append(len(inputs))
        return run(self, inputs, wanted)

    monkeypatch.setattr(Fitted, "run", counting)
    for name in ("table-weighting", "table-knn", "table-scalable"):
        _, cells = small_cells(name)
        before = sum(windows_run)
        tallies.append(make_measure(Context(cells[0], study)).run(0)["tallies"]["methods"]["fdw"])
        passes.append(sum(windows_run) - before)
    assert tallies[0] == tallies[1] == tallies[2]
    assert passes[1] == 0
    windows = len(Context(cells[0], study).test)
    assert passes[0] >= 5 * windows  # five completed windows for three weightings, and the neighbors' own forecasts
    assert passes[0] < 10 * windows + len(study.paper.fitted_.bank)


def test_forecasts_kept_are_bounded(study, monkeypatch):
    _, cells = small_cells("table-weighting")
    context = Context(cells[0], study)
    monkeypatch.setattr("subcast.experiments.study.KEPT_BYTES", 1)
    for present in context.draws():
        make_method(context, "fdw")(context.test, present)
    assert len(study.completions) == 1


def test_an_experiment_on_a_variant_has_a_model_of_its_own(places):
    _, plain = small_cells("table-oracle-partial", "mtgnn")
    _, noisy = small_cells("table-noise", "mtgnn")
    first = Study.of(plain[0], places.checkpoints, progress=False)
    assert not first.serves(noisy[0])
    study = Study.of(noisy[0], places.checkpoints, progress=False)
    assert study.serves(noisy[0])
    assert study.trained_name() == "mtgnn-noise-clouds-small"
    assert study.model.module.settings["graph_noise"] == 0.01
    assert "graph_noise" not in first.model.module.settings
    assert study.weights != first.weights


def test_a_part_of_the_bank(study):
    part = study.paper_with(fraction=0.25).fitted_.bank
    whole = study.paper.fitted_.bank
    assert len(part) == pytest.approx(0.25 * len(whole), rel=0.02)
    assert set(part.starts) <= set(whole.starts)


def test_noise_is_a_setting_of_models_that_learn_their_graph():
    assert variant_changes("mtgnn", "noise")["settings"] == {"graph_noise": 0.01}
    for model in ("astgcn", "mstgcn", "lstnet", "tcn"):
        assert variant_changes(model, "noise") == {"config": {}, "settings": {}, "graph": None}


def test_the_calendar_variant_has_time_of_day_and_day_of_week_as_inputs():
    plain, calendar = (split_data(open_data("clouds-small", variant), "clouds-small") for variant in ("", "calendar"))
    assert calendar.test.series.time_features == ("time_of_day", "day_of_week")
    assert calendar.test.starts == plain.test.starts
    assert calendar.test.batch([0]).inputs.shape[-1] == 3


def test_a_study_of_the_calendar_variant_has_these_inputs_too(places):
    study = Study("clouds-small", "tcn", 0, "calendar", places.checkpoints, progress=False)
    assert study.series.n_features == study.model.n_features == 3


def test_masked_drops_as_many_variables_as_the_test():
    changes = variant_changes("tcn", "masked")["config"]
    assert changes == {"variable_dropout": 0.85, "variable_dropout_least": 0.85}
