"""Does it help to train a model further with most variables absent, before it is wrapped?

    python benchmarks/finetuned_records.py                  # tcn-metr-la-29
    python benchmarks/finetuned_records.py tcn-traffic-20 --epochs 2 --draws 3 --effort 0.1 --to /tmp/trial

A trained model of this package is trained for some more epochs in which as many variables are absent as in the test,
85 %. Then the default is fitted to the model as it was and to the model trained further. Errors at step 12 with 15 % of
the variables present, on the windows and draws of S of accuracy_records.py; beside them the further trained model that
is given S alone. Writes results/finetuned-NAME.json.
"""

from __future__ import annotations

import argparse
import copy
import time
from dataclasses import replace
from pathlib import Path

import records
from accuracy_records import CHECKPOINTS, DRAWS, METRICS, SEED, SHARES, STEP, Pair, Size, gap_facts, timed

from subcast import TrainConfig, draw_subsets, train
from subcast.evaluation import Method, evaluate, oracle, partial_inputs, wrapped
from subcast.experiments.study import MASKED
from subcast.forecasters.trained import TrainedForecaster

EPOCHS = 6


def main() -> None:
    """Measure the pairs named on the command line."""
    parser = argparse.ArgumentParser(
        description="Measure the default with a model trained further on absent variables."
    )
    parser.add_argument("names", nargs="*", default=["tcn-metr-la-29"], help="pairs whose model is of this package")
    parser.add_argument("--epochs", type=int, default=EPOCHS, help="further epochs")
    parser.add_argument("--draws", type=int, default=DRAWS, help="draws of S")
    parser.add_argument("--effort", type=float, default=1.0, help="effort of tuning")
    parser.add_argument("--to", type=Path, default=records.RESULTS, help="folder for the records")
    parser.add_argument("--checkpoints", type=Path, nargs="*", default=[], help="further folders of trained models")
    given = parser.parse_args()
    records.RESULTS = given.to
    for name in given.names:
        size = Size(given.draws, None, given.effort)
        run(Pair.named(name, (*CHECKPOINTS, *given.checkpoints), size), given.epochs)


def run(pair: Pair, epochs: int) -> None:
    """Measure a pair and write its record."""
    started = time.perf_counter()
    further, seconds = timed(lambda: with_model(pair, trained_further(pair, epochs)))
    methods: dict[str, Method] = {"oracle": oracle(pair.tuned["mae"][0])}
    for metric in METRICS:
        robust = further.wrapper(metric)
        methods[f"subcast ({metric})"] = wrapped(pair.tuned[metric][0])
        methods[f"subcast, model trained further ({metric})"] = wrapped(robust)
    methods["model trained further, given S alone"] = partial_inputs(robust)
    draws = draw_subsets(pair.n, share=SHARES[0], draws=pair.size.draws, seed=SEED)
    test = evaluate(methods, pair.test, draws, progress=False)
    gaps = {
        metric: gap_facts(
            test.gap(f"subcast, model trained further ({metric})", metric, STEP, base=f"subcast ({metric})")
        )
        for metric in METRICS
    }
    tallies = {"test": test.to_record(STEP)}
    figures = {"step": STEP, "gap_to_the_default": gaps, "training_seconds": round(seconds, 1), "tallies": tallies}
    path = records.write_record(
        f"finetuned-{pair.name}",
        figures,
        packages=("numpy", "torch"),
        command=f"python benchmarks/finetuned_records.py {pair.name} --epochs {epochs}",
        pair=pair.name,
        share=SHARES[0],
        epochs=epochs,
        absent=MASKED,
        draws=pair.size.draws,
        seed=SEED,
        test_windows=len(pair.test),
        minutes=round((time.perf_counter() - started) / 60, 1),
    )
    print(path, gaps, flush=True)
    print(test.table(STEP)[["mae", "rmse", "mae_gap", "rmse_gap"]].round(3).to_string())


def trained_further(pair: Pair, epochs: int) -> TrainedForecaster:
    """Return the model of a pair, trained for some more epochs with most variables absent."""
    model = pair.model
    if not isinstance(model, TrainedForecaster):
        raise SystemExit(f"{pair.name}: the model must be one of this package, got {type(model).__name__}")
    config = TrainConfig(
        epochs=epochs,
        learning_rate=3e-4,
        curriculum=0,
        variable_dropout=MASKED,
        variable_dropout_least=MASKED,
        progress=False,
    )
    return train(copy.deepcopy(model.module), pair.split.train, pair.split.val, config)


def with_model(pair: Pair, model: TrainedForecaster) -> Pair:
    """Return the pair with another model of the same time features."""
    other = replace(pair)
    other.__dict__["model"] = model  # in place of the cached one
    return other


if __name__ == "__main__":
    main()
