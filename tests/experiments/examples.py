"""Small cells that run without data and without a trained model."""

from subcast.experiments.declaration import get_experiment


def small_cells(name, model=None):
    experiment = get_experiment(name)
    model = model or ("tcn" if "tcn" in experiment.models else "mtgnn")
    models = (model,) if experiment.models else ()
    return experiment, experiment.cells("quick", datasets=("clouds-small",), models=models, draws=2, every=97)
