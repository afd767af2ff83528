"""Small forecasters and inputs for tests."""

import torch

from subcast.forecasters import FORECASTERS

MODELS = sorted(FORECASTERS)
GRAPH_MODELS = [name for name in MODELS if FORECASTERS[name].needs_graph or FORECASTERS[name].learns_graph]


def build(name, n=7, lookback=12, horizon=5, n_features=1, seed=0, **settings):
    """Build a small model and move every parameter away from its initial value, such as scales of 1."""
    torch.manual_seed(seed)
    if FORECASTERS[name].needs_graph and "graph" not in settings:
        settings["graph"] = (torch.rand(n, n) * (torch.rand(n, n) < 0.6)).numpy()
    model = FORECASTERS[name](
        n_variables=n, lookback=lookback, horizon=horizon, n_features=n_features, **settings
    ).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    return model


def inputs(b=3, n=7, lookback=12, n_features=1, seed=1):
    return torch.randn(b, lookback, n, n_features, generator=torch.Generator().manual_seed(seed))


def run(model, x, **options):
    with torch.no_grad():
        return model(x, **options)
