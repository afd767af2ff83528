"""Why does Partial lose more, or less, than published? Change one thing at a time and measure again.

    python benchmarks/partial_causes.py              # all changes that have no result yet
    python benchmarks/partial_causes.py lstnet       # those of one model, or one change by its name
    python benchmarks/partial_causes.py lstnet --again      # measure them once more
    python benchmarks/partial_causes.py --list       # the changes, and which have a result

A change either treats the absent variables in another way (the committed model is not trained again), or trains a model
with other settings. Each is measured on the same draws of S and the same test windows; a model's results are in
results/partial-causes-MODEL-DATASET.json, with tallies, so that every interval can be computed again.
"""

from __future__ import annotations

import argparse
import contextlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import records
import torch
from numpy.typing import NDArray
from torch import Tensor

from subcast.evaluation import Method, evaluate, forecast_all, wrapped
from subcast.experiments.study import NOISE, SEED, SHARE, STEP, open_data, split_data, trained_name
from subcast.experiments.summaries import summarize
from subcast.forecasters.checkpoint import is_saved_forecaster
from subcast.forecasters.base import ForecastModule, take
from subcast.forecasters.graph import largest_eigenvalue, without_absent
from subcast.forecasters.lstnet import LSTNet
from subcast.forecasters.mtgnn import MTGNN
from subcast.forecasters.trained import TrainedForecaster
from subcast.subset import SubsetForecaster
from subcast.subsets import draw_subsets
from subcast.training import TrainConfig, train
from subcast.windows import Split, Windows

CHECKPOINTS = records.RESULTS / "checkpoints"
DRAWS, EVERY = 20, 4  # as in table-oracle-partial
HUBS = 20  # MTGNN keeps so many edges for each variable
Present = NDArray[np.int64]
Forecast = Callable[[TrainedForecaster, Windows, Present], NDArray[np.float32]]


@dataclass(frozen=True)
class Change:
    """One change against the experiments, measured on one model.

    Parameters
    ----------
    name, model, dataset
        of the change, of the kind of model and of the dataset
    text
        what differs
    partial
        how the absent variables are treated, as in the experiments by default
    build
        trains a model; a committed one is loaded by default
    of
        name of the committed model, that of record by default
    with_fdw
        whether FDW is measured too
    """

    name: str
    model: str
    dataset: str
    text: str
    partial: Forecast | None = None
    build: Callable[[Split], TrainedForecaster] | None = None
    of: str = ""
    with_fdw: bool = False

    @property
    def trained(self) -> bool:
        """Whether it has a training of its own."""
        return self.build is not None or bool(self.of)


# How the absent variables are treated.


def as_published(model: TrainedForecaster, windows: Windows, present: Present) -> NDArray[np.float32]:
    """Return forecasts as in the experiments: inputs of absent variables at 0 after normalization, edges removed."""
    return model.forecast_partial(windows.batch().inputs, present, present)


def _with_absent(model: TrainedForecaster, windows: Windows, present: Present, value: Any) -> NDArray[np.float32]:
    """Return forecasts with the absent variables at a value (raw), [n] or one for all, and with every edge."""
    inputs = windows.batch().inputs
    absent = np.setdiff1d(np.arange(model.n_variables), present)
    inputs[:, :, absent, 0] = np.broadcast_to(value, model.n_variables)[absent]
    return model.predict(inputs, wanted=present)


def edges_kept(model: TrainedForecaster, windows: Windows, present: Present) -> NDArray[np.float32]:
    """Return forecasts with the inputs of absent variables at 0 after normalization, and every edge."""
    return _with_absent(model, windows, present, model.scaler.mean)


def own_mean(model: TrainedForecaster, windows: Windows, present: Present) -> NDArray[np.float32]:
    """Return forecasts with each absent variable at its own mean, and every edge."""
    return _with_absent(model, windows, present, model.means)


def raw_zero(model: TrainedForecaster, windows: Windows, present: Present) -> NDArray[np.float32]:
    """Return forecasts with the raw inputs of absent variables at 0, and every edge."""
    return _with_absent(model, windows, present, 0.0)


def only_edges_removed(model: TrainedForecaster, windows: Windows, present: Present) -> NDArray[np.float32]:
    """Return forecasts with the readings of all variables, but without edges to or from absent ones."""
    with _shared_of(model.module, _mask(model, present)):
        return model.predict(windows.batch().inputs, wanted=present)


@contextlib.contextmanager
def _shared_of(module: ForecastModule, mask: Tensor) -> Iterator[None]:
    """Give a module the graph that it has when only the variables of a mask are present."""
    shared = module._shared(mask)
    module._shared = lambda _present: shared
    try:
        yield
    finally:
        del module._shared


def attention_to_present(model: TrainedForecaster, windows: Windows, present: Present) -> NDArray[np.float32]:
    """Return forecasts of ASTGCN whose attention to absent variables is 0, and sums to 1 over the present ones."""
    mask = _mask(model, present).float()

    def hook(_module: Any, _inputs: Any, attention: Tensor) -> Tensor:
        kept = attention * mask[:, None]  # [b, n, n]: of each variable i for each variable j
        return kept / kept.sum(dim=1, keepdim=True).clamp(min=1e-9)

    handles = [block.spatial_attention.register_forward_hook(hook) for block in model.module.blocks]
    try:
        return as_published(model, windows, present)
    finally:
        for handle in handles:
            handle.remove()


def own_eigenvalue(model: TrainedForecaster, windows: Windows, present: Present) -> NDArray[np.float32]:
    """Return forecasts with the Laplacian scaled by the largest eigenvalue of the remaining edges."""
    before = model.module.largest.clone()
    remaining = without_absent(model.module.graph, _mask(model, present))
    model.module.largest.fill_(largest_eigenvalue(remaining))
    try:
        return as_published(model, windows, present)
    finally:
        model.module.largest.copy_(before)


def degrees_kept(model: TrainedForecaster, windows: Windows, present: Present) -> NDArray[np.float32]:
    """Return forecasts with the Laplacian of all edges, whose entries between two variables are 0 if one is absent.

    The diagonal stays as in training; in the experiments it is computed from the remaining edges.
    """
    module = model.module
    whole = module._laplacian(None)
    mask = _mask(model, present)
    kept = (mask[:, None] & mask[None, :]) | torch.eye(len(mask), dtype=torch.bool)
    module._laplacian = lambda _present: whole * kept
    try:
        return as_published(model, windows, present)
    finally:
        del module._laplacian


def polynomials_masked(model: TrainedForecaster, windows: Windows, present: Present) -> NDArray[np.float32]:
    """Return forecasts of ASTGCN with the polynomials of all edges; rows and columns of absent variables are 0."""
    mask = _mask(model, present)
    terms = model.module._shared(None) * (mask[:, None] & mask[None, :])
    model.module._shared = lambda _present: terms
    try:
        return as_published(model, windows, present)
    finally:
        del model.module._shared


def variables_left_out(model: TrainedForecaster, windows: Windows, present: Present) -> NDArray[np.float32]:
    """Return forecasts of MTGNN without the absent variables: each layer is normalized over the present ones alone."""
    module = model.module
    with torch.no_grad():
        graph = module.adjacency(_mask(model, present))[present][:, present].numpy()
    settings = {name: value for name, value in module.settings.items() if name not in ("n_variables", "graph")}
    small = MTGNN(n_variables=len(present), graph=graph, **settings)
    weights = module.state_dict()
    of_variables = {name for name in weights if name.endswith((".scale", ".shift"))}
    small.load_state_dict(
        {
            name: value if name == "graph" else weights[name][present] if name in of_variables else weights[name]
            for name, value in small.state_dict().items()
        }
    )
    variables = tuple(model.variables[variable] for variable in present)
    alone = replace(model, module=small, means=model.means[present], variables=variables)
    return alone.predict(windows.batch().inputs[:, :, present])


def _mask(model: TrainedForecaster, present: Present) -> Tensor:
    mask = torch.zeros(model.n_variables, dtype=torch.bool)
    mask[present] = True
    return mask


# LSTNet and TCN with other heads.


class Recursive(ForecastModule):
    """LSTNet or TCN that forecasts one step, and is fed its own forecast for the next.

    Parameters
    ----------
    one_step
        the model, with a horizon of 1
    horizon
        number of steps to forecast
    feed_absent
        whether the forecast of an absent variable is fed back too; otherwise it stays at 0
    """

    rows_at_once = LSTNet.rows_at_once

    def __init__(self, one_step: ForecastModule, horizon: int, *, feed_absent: bool) -> None:
        sizes = {name: one_step.settings[name] for name in ("n_variables", "lookback", "n_features")}
        super().__init__(horizon=horizon, **sizes)
        self.one_step, self.feed_absent = one_step, feed_absent

    def _shared(self, present: Tensor | None) -> Tensor | None:
        return present

    def _windows(self, x: Tensor, present: Tensor | None, wanted: Tensor | None) -> Tensor:
        steps = []
        for _ in range(self.horizon):
            step = self.one_step._windows(x, None, None)  # [b, 1, n]
            steps.append(take(step, wanted, 2))
            if present is not None and not self.feed_absent:
                step = torch.where(present, step, step.new_zeros(()))
            x = torch.cat([x[:, 1:], step[..., None]], dim=1)
        return torch.cat(steps, dim=1)


def lstnet(dataset: str, **settings: Any) -> Callable[[Split], TrainedForecaster]:
    """Return a function that trains LSTNet with other settings and the paper's preset."""

    def build(split: Split) -> TrainedForecaster:
        return train("lstnet", split.train, split.val, _config(dataset), settings=settings)

    return build


def recursive(
    dataset: str, model: str = "lstnet", *, feed_absent: bool = False, **settings: Any
) -> Callable[[Split], TrainedForecaster]:
    """Return a function that trains a model for one step with the paper's preset, and feeds it its forecasts."""

    def build(split: Split) -> TrainedForecaster:
        first = [replace(windows, horizon=1) for windows in (split.train, split.val)]
        one_step = train(model, *first, _config(dataset), settings=settings)
        horizon = split.train.horizon
        module = Recursive(one_step.module, horizon, feed_absent=feed_absent)
        return replace(one_step, module=module, horizon=horizon)

    return build


def _config(dataset: str) -> TrainConfig:
    return TrainConfig.paper(dataset, progress=False)


FIRST, OTHER = "ecg5000-test-first", "ecg5000"


def _of_graph_models(model: str, dataset: str) -> list[Change]:
    """Return the changes that every model with a graph is measured with."""
    changes = {
        "as in the experiments": ("inputs at 0 after normalization, edges removed", None),
        "edges kept": ("inputs at 0 after normalization, every edge kept", edges_kept),
        "only edges removed": ("readings of all variables, edges removed", only_edges_removed),
        "own mean": ("each absent variable at its own mean, every edge kept", own_mean),
        "raw zero": ("raw inputs at 0, every edge kept", raw_zero),
    }
    return [Change(name, model, dataset, text, partial) for name, (text, partial) in changes.items()]


_FED = "trained for one step and fed its forecast"


def _of_tcn(dataset: str) -> list[Change]:
    trained = {
        "recursive": (f"{_FED}; absent variables stay at 0", recursive(dataset, "tcn")),
        "recursive, absent fed": (f"{_FED}, of absent variables too", recursive(dataset, "tcn", feed_absent=True)),
    }
    return [
        Change("as in the experiments", "tcn", dataset, "all steps at once", with_fdw=True),
        Change("own mean", "tcn", dataset, "each absent variable at its own mean", own_mean),
        *(Change(name, "tcn", dataset, text, build=build, with_fdw=True) for name, (text, build) in trained.items()),
    ]


def _of_lstnet(dataset: str) -> list[Change]:
    trained: dict[str, tuple[str, Callable[[Split], TrainedForecaster]]] = {
        "highway 0": ("no highway", lstnet(dataset, highway=0)),
        "highway 3": ("highway of the latest 3 steps", lstnet(dataset, highway=3)),
        "skip 0": ("no skip recurrence", lstnet(dataset, skip=0)),
        "skip 2": ("skip of 2 steps", lstnet(dataset, skip=2)),
        "skip 6": ("skip of 6 steps", lstnet(dataset, skip=6)),
        "recursive": (f"{_FED}; absent variables stay at 0", recursive(dataset)),
        "recursive, absent fed": (f"{_FED}, of absent variables too", recursive(dataset, feed_absent=True)),
        "recursive, highway 0": (f"{_FED}, no highway", recursive(dataset, highway=0)),
    }
    return [
        Change("as in the experiments", "lstnet", dataset, "skip 3, highway 12, all steps at once", with_fdw=True),
        Change("own mean", "lstnet", dataset, "each absent variable at its own mean", own_mean),
        Change("raw zero", "lstnet", dataset, "raw inputs at 0", raw_zero),
        *(Change(name, "lstnet", dataset, text, build=build, with_fdw=True) for name, (text, build) in trained.items()),
    ]


def _of_laplacian(model: str, dataset: str) -> list[Change]:
    """Return the changes of MSTGCN and ASTGCN, which use the Laplacian of a given graph."""
    changes = {
        "own eigenvalue": (_OWN_EIGENVALUE, own_eigenvalue),
        "degrees kept": (_DEGREES, degrees_kept),
    }
    if model == "astgcn":
        changes["polynomials masked"] = (
            "polynomials as in training, without absent rows and columns",
            polynomials_masked,
        )
        changes["attention to present"] = ("attention to absent variables is 0", attention_to_present)
    others = [Change(name, model, dataset, text, partial) for name, (text, partial) in changes.items()]
    return [*_of_graph_models(model, dataset), *others]


SHORT = 12  # epochs
_FEW = f"{SHORT} epochs instead of 100"


def short(
    model: str, settings: dict[str, Any] | None = None, graph_of: str = "", **changes: Any
) -> Callable[[Split], TrainedForecaster]:
    """Return a function that trains a model for a few epochs, with all steps in the loss after 30 % of them.

    Parameters
    ----------
    model, settings
        kind and settings of the model
    graph_of
        name of the committed model whose graph is used, for a model that is given one
    changes
        changes of the training
    """

    def build(split: Split) -> TrainedForecaster:
        config = {"epochs": SHORT, "schedule": "constant", "patience": None, "progress": False} | changes
        graph = TrainedForecaster.load(CHECKPOINTS / graph_of) if graph_of else None
        return train(model, split.train, split.val, TrainConfig(**config), settings=settings, graph=graph)

    return build


def _of_graph_learning(dataset: str) -> list[Change]:
    """Return trainings of MTGNN that may learn another graph: in which few variables have most of the edges?"""
    trained = {
        "short": (_FEW, short("mtgnn")),
        "short, noise": (
            f"{_FEW}, the authors' noise before the strongest edges are chosen",
            short("mtgnn", {"graph_noise": NOISE}),
        ),
        "short, slower": (f"{_FEW}, a third of the learning rate", short("mtgnn", learning_rate=1e-3 / 3)),
    }
    others = [
        Change(
            f"seed {seed}", "mtgnn", dataset, "another seed of the training", of=trained_name("mtgnn", dataset, seed)
        )
        for seed in (1, 2)
    ]
    return [*others, *(Change(name, "mtgnn", dataset, text, build=build) for name, (text, build) in trained.items())]


def _of_given_graphs(dataset: str) -> list[Change]:
    """Return trainings of ASTGCN with the graphs that two trainings of MTGNN learned, and with another seed."""
    first, second = trained_name("mtgnn", dataset), trained_name("mtgnn", dataset, 1)
    trained = {
        "short": (_FEW, short("astgcn", graph_of=first)),
        "short, graph of seed 1": (f"{_FEW}, the graph of seed 1 of MTGNN", short("astgcn", graph_of=second)),
        "short, seed 1": (f"{_FEW}, another seed of the training", short("astgcn", graph_of=first, seed=1)),
    }
    return [Change(name, "astgcn", dataset, text, build=build) for name, (text, build) in trained.items()]


_LEFT_OUT = "a model of S alone, with the same weights: layers are normalized over S"
_OWN_EIGENVALUE = "edges removed, and the Laplacian scaled by the largest eigenvalue of the rest"
_DEGREES = "entries of the Laplacian between present and absent variables removed, its diagonal as in training"
CHANGES = [
    *_of_lstnet(FIRST),
    *_of_tcn(FIRST),
    *(Change("short", model, FIRST, _FEW, build=short(model)) for model in ("lstnet", "tcn")),
    *_of_graph_models("mtgnn", FIRST),
    Change("variables left out", "mtgnn", FIRST, _LEFT_OUT, variables_left_out),
    *_of_graph_learning(FIRST),
    *_of_laplacian("mstgcn", FIRST),
    *_of_laplacian("astgcn", FIRST),
    *_of_given_graphs(FIRST),
    *_of_laplacian("astgcn", OTHER),
    *_of_laplacian("mstgcn", OTHER),
    *_of_graph_models("mtgnn", OTHER),
    Change("variables left out", "mtgnn", OTHER, _LEFT_OUT, variables_left_out),
]  # fmt: skip


def main() -> None:
    """Measure the changes named on the command line."""
    parser = argparse.ArgumentParser(description="Measure what changes the loss of Partial.")
    parser.add_argument("names", nargs="*", help="models or names of changes, all by default")
    parser.add_argument("--dataset", help="only this dataset")
    parser.add_argument("--again", action="store_true", help="measure changes that have a result again")
    parser.add_argument("--list", action="store_true", help="show the changes and which have a result")
    arguments = parser.parse_args()
    for change in CHANGES:
        named = not arguments.names or {change.model, change.name} & set(arguments.names)
        if not named or arguments.dataset not in (None, change.dataset):
            continue
        finished = change.name in _figures(change) and not arguments.again
        if arguments.list:
            print(f"{change.model} {change.dataset}, {change.name}: {'finished' if finished else change.text}")
        elif not finished and change.build is None and not is_saved_forecaster(_folder(change)):
            print(f"{change.model} {change.dataset}, {change.name}: skipped, the model is not trained")
        elif not finished:
            run(change)


def run(change: Change) -> None:
    """Measure one change and add it to the record of its model."""
    split = split_data(open_data(change.dataset), change.dataset)
    model = TrainedForecaster.load(_folder(change)) if change.build is None else change.build(split)
    test = split.test[::EVERY]
    draws = draw_subsets(model.n_variables, share=SHARE, draws=DRAWS, seed=SEED)
    compared = methods(model, test, change.partial or as_published)
    if change.with_fdw:
        compared["fdw"] = wrapped(SubsetForecaster.paper(model, progress=False).fit(split.train))
    comparison = evaluate(compared, test, draws, progress=False)
    rows = summarize(comparison, STEP)
    result: dict[str, Any] = {
        "text": change.text,
        "trained": change.trained,
        "another_seed": bool(change.of),
        "test_windows": len(test),
        **{name: {key: value for key, value in row.items() if "by_step" not in key} for name, row in rows.items()},
        "tallies": comparison.to_record(STEP),
    }
    if change.trained:
        result["best_epoch"] = model.training["best_epoch"]
        result["best_val_mae"] = model.training["best_val_mae"]
        result["hours"] = model.training["hours"]
    if hasattr(model.module, "adjacency") and change.partial is None:
        result["hubs"] = hubs(model, [np.asarray(draw) for draw in draws], comparison.mae)
    _write(change, _figures(change) | {change.name: result})
    oracle, partial = rows["oracle"], rows["partial"]
    print(f"{change.model} {change.dataset}, {change.name}: {oracle['mae']:.3f} {partial['mae']:.3f}", flush=True)


def methods(model: TrainedForecaster, test: Windows, partial: Forecast) -> dict[str, Method]:
    """Return Oracle and Partial as methods of a comparison on the test windows; Oracle forecasts once for all draws."""
    every = forecast_all(model, test)
    return {
        "oracle": lambda windows, present: every[:, :, present],
        "partial": lambda windows, present: partial(model, windows, present),
    }


def hubs(model: TrainedForecaster, draws: list[Present], mae: dict[str, NDArray[np.float64]]) -> dict[str, Any]:
    """Return how the edges are spread, and how the gap of a draw goes with the number of hubs in S.

    Hubs are the variables with the most edges, in either direction.
    """
    module = model.module
    most, share = busiest(module.adjacency().detach().numpy() > 0)
    untrained = [busiest(graph)[1] for graph in untrained_graphs(module.settings)] if _learns_graph(module) else None
    in_subset = [int(np.isin(draw, most).sum()) for draw in draws]
    gaps = mae["partial"][:, STEP - 1] / mae["oracle"][:, STEP - 1] - 1
    return {
        "share_of_edges": share,
        "share_untrained": None if untrained is None else float(np.mean(untrained)),
        "hubs_in_subset": in_subset,
        "correlation": float(np.corrcoef(in_subset, gaps)[0, 1]) if np.std(in_subset) > 0 else None,
    }


def _learns_graph(module: ForecastModule) -> bool:
    return bool(type(module).learns_graph)


def busiest(graph: NDArray[np.bool_]) -> tuple[NDArray[np.int64], float]:
    """Return the variables with the most edges in either direction, and the share of all edges that touch them."""
    most = np.argsort(-(graph.sum(axis=0) + graph.sum(axis=1)), kind="stable")[:HUBS]
    others = np.setdiff1d(np.arange(len(graph)), most)
    return most, float(1 - graph[np.ix_(others, others)].sum() / max(1, graph.sum()))


def untrained_graphs(settings: Mapping[str, Any]) -> Iterator[NDArray[np.bool_]]:
    """Yield the graphs of a few models before their training."""
    for seed in range(5):
        with torch.random.fork_rng(), torch.no_grad():
            torch.manual_seed(seed)
            yield MTGNN(**settings).adjacency().numpy() > 0


def _folder(change: Change) -> Path:
    return CHECKPOINTS / (change.of or trained_name(change.model, change.dataset))


def _name(change: Change) -> str:
    return f"partial-causes-{change.model}-{change.dataset}"


def _figures(change: Change) -> dict[str, Any]:
    path = records.RESULTS / f"{_name(change)}.json"
    return json.loads(path.read_text(encoding="utf-8"))["figures"] if path.exists() else {}


def _write(change: Change, figures: dict[str, Any]) -> None:
    records.write_record(
        _name(change),
        figures,
        packages=("numpy", "torch", "lightning"),
        command=f"python benchmarks/partial_causes.py {change.model} --dataset {change.dataset}",
        model=change.model,
        dataset=change.dataset,
        draws=DRAWS,
        every=EVERY,
    )


if __name__ == "__main__":
    main()
