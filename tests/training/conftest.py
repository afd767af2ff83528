"""One torch thread per test process: the tensors are tiny, and there are as many processes as cores."""

import pytest
import torch

from subcast.training import train
from training.examples import QUICK, SMALL, waves


@pytest.fixture(autouse=True, scope="session")
def _one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def parts():
    return waves().split(6, 4)


@pytest.fixture(scope="session")
def trained(parts):
    return train("tcn", parts.train, parts.val, QUICK, settings=SMALL)
