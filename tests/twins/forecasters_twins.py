"""The five models in their straightforward formulation, with the weights of the fast ones.

Data lie as [b, c, n, t], convolutions are conv2d, graphs are dense and applied by einsum, one term after the other,
as the papers write them. Nothing is shared with the package but the parameters.
"""

import numpy as np
import torch
import torch.nn.functional as F


def _mask(x, present):
    return x if present is None else torch.where(present[:, None], x, torch.zeros(()))


def _conv(x, weight, bias, **options):
    """A 1 x 1 or 1 x k convolution of [b, c, n, t]."""
    if weight.dim() == 2:
        weight = weight[:, :, None, None]
    return F.conv2d(x, weight, bias, **options)


# MTGNN


def mtgnn_adjacency(model, present=None):
    learning = model.graph_learning
    if learning is None:
        adjacency = model.graph.clone()
        if present is not None:
            adjacency[~present] = 0
            adjacency[:, ~present] = 0
        return adjacency
    m1 = torch.tanh(
        learning.saturation * F.linear(learning.embedding1.weight, learning.linear1.weight, learning.linear1.bias)
    )
    m2 = torch.tanh(
        learning.saturation * F.linear(learning.embedding2.weight, learning.linear2.weight, learning.linear2.bias)
    )
    score = m1 @ m2.T - m2 @ m1.T
    adjacency = F.relu(torch.tanh(learning.saturation * score))
    if present is not None:
        gone = ~(present[:, None] & present[None, :])
        score = score.masked_fill(gone, 0)
        adjacency = adjacency.masked_fill(gone, 0)
    keep = torch.zeros_like(adjacency)
    keep.scatter_(1, score.topk(learning.neighbors, 1).indices, 1)
    return adjacency * keep


def _mix(x, adjacency, linear, depth, retain):
    a = adjacency + torch.eye(len(adjacency))
    a = a / a.sum(1, keepdim=True)
    h = x
    hops = [x]
    for _ in range(depth):
        h = retain * x + (1 - retain) * torch.einsum("bcwt,vw->bcvt", h, a)
        hops.append(h)
    return _conv(torch.cat(hops, 1), linear.weight, linear.bias)


def _inception(x, convs):
    outs = [F.conv2d(x, conv.weight[:, :, None, :], conv.bias) for conv in convs]
    shortest = min(out.shape[3] for out in outs)
    return torch.cat([out[..., -shortest:] for out in outs], 1)


def _wide(x, linear):
    """A convolution as wide as the time left, from the weights of a linear layer over (t, c)."""
    weight = linear.weight.view(linear.weight.shape[0], x.shape[3], x.shape[1]).permute(0, 2, 1)[:, :, None, :]
    return F.conv2d(x, weight, linear.bias)


def mtgnn(model, x, present=None):
    x = _mask(x, present)
    adjacency = mtgnn_adjacency(model, present)
    x = x.permute(0, 3, 2, 1)  # [b, f, n, t]
    x = F.pad(x, (model.padding, 0, 0, 0))
    drop = model.training
    skip = _wide(F.dropout(x, model.dropout, drop), model.skip_start)
    x = _conv(x, model.start.weight, model.start.bias)
    for layer in model.layers:
        residual = x
        x = torch.tanh(_inception(x, layer.inception.filters)) * torch.sigmoid(_inception(x, layer.inception.gates))
        x = F.dropout(x, model.dropout, drop)
        skip = skip + _wide(x, layer.skip)
        hop = layer.mix_hop
        x = _mix(x, adjacency, hop.forwards, hop.depth, hop.retain) + _mix(
            x, adjacency.T, hop.backwards, hop.depth, hop.retain
        )
        x = x + residual[..., -x.shape[3] :]
        x = F.layer_norm(x, x.shape[1:], layer.scale.permute(2, 0, 1), layer.shift.permute(2, 0, 1))
    skip = F.relu(skip + _wide(x, model.skip_end))
    x = F.relu(_conv(skip, model.end1.weight, model.end1.bias))
    return _conv(x, model.end2.weight, model.end2.bias)[..., 0]  # [b, h, n]


# ASTGCN and MSTGCN


def chebyshev_terms(model, present=None):
    """T_0 .. of the graph: once for all forecasts."""
    w = model.graph.numpy().astype(np.float64)
    whole = np.diag(w.sum(1)) - w
    largest = np.linalg.eigvals(whole).real.max()
    if present is not None:
        gone = ~present.numpy()
        w = w.copy()
        w[gone] = 0
        w[:, gone] = 0
    eye = np.eye(len(w))
    laplacian = 2 * (np.diag(w.sum(1)) - w) / largest - eye if largest > 1e-9 else -eye
    terms = [eye, laplacian]
    while len(terms) < model.settings["order"]:
        terms.append(2 * laplacian @ terms[-1] - terms[-2])
    return [torch.as_tensor(term, dtype=model.graph.dtype) for term in terms[: model.settings["order"]]]


def _time_block(h, x, block):
    """h, x [b, c, n, t]."""
    width = block.time.kernel_size[0]
    before = (width - 1) // 2
    h = F.pad(h, (before, width - 1 - before))
    y = F.conv2d(h, block.time.weight[:, :, None, :], block.time.bias)
    y = F.relu(y + _conv(x, block.residual.weight, block.residual.bias))
    y = F.layer_norm(y.permute(0, 2, 3, 1), y.shape[1:2], block.norm.weight, block.norm.bias)
    return y.permute(0, 3, 1, 2)


def _output(x, model):
    return _wide(x, model.output)[..., 0]


def mstgcn(model, x, present=None, terms=None):
    x = _mask(x, present).permute(0, 3, 2, 1)  # [b, f, n, t]
    terms = chebyshev_terms(model, present) if terms is None else terms
    for block in model.blocks:
        h = sum(
            torch.einsum("bcnt,nm,cd->bdmt", x, term, theta)
            for term, theta in zip(terms, block.graph_conv.theta, strict=True)
        )
        x = F.dropout(_time_block(F.relu(h), x, block.time_conv), model.dropout, model.training)
    return _output(x, model)


def astgcn(model, x, present=None, terms=None):
    x = _mask(x, present).permute(0, 3, 2, 1)  # [b, f, n, t]
    terms = chebyshev_terms(model, present) if terms is None else terms
    for block in model.blocks:
        ta, sa = block.temporal_attention, block.spatial_attention
        left = torch.einsum("bcnt,n,cm->btm", x, ta.u1, ta.u2)
        right = torch.einsum("c,bcnt->bnt", ta.u3, x)
        e = torch.softmax(torch.matmul(ta.v, torch.sigmoid(left @ right + ta.bias)), dim=1)  # [b, t, t]
        seen = torch.einsum("bcnt,bts->bcns", x, e)
        left = torch.einsum("bcnt,t,cs->bns", seen, sa.w1, sa.w2)
        right = torch.einsum("c,bcnt->btn", sa.w3, seen)
        s = torch.softmax(torch.matmul(sa.v, torch.sigmoid(left @ right + sa.bias)), dim=1)  # [b, n, n]
        h = 0
        for term, theta in zip(terms, block.graph_conv.theta, strict=True):
            h = h + torch.einsum("cd,bcmt->bdmt", theta, torch.einsum("bnm,bcnt->bcmt", term * s, x))
        x = F.dropout(_time_block(F.relu(h), x, block.time_conv), model.dropout, model.training)
    return _output(x, model)


# LSTNet


def _gru(gru, x):
    """The last state of a GRU over x [b, t, c], written out."""
    hidden = gru.hidden_size
    h = x.new_zeros(len(x), hidden)
    for t in range(x.shape[1]):
        gi = F.linear(x[:, t], gru.weight_ih_l0, gru.bias_ih_l0).split(hidden, 1)
        gh = F.linear(h, gru.weight_hh_l0, gru.bias_hh_l0).split(hidden, 1)
        reset, update = torch.sigmoid(gi[0] + gh[0]), torch.sigmoid(gi[1] + gh[1])
        new = torch.tanh(gi[2] + reset * gh[2])
        h = (1 - update) * new + update * h
    return h


def lstnet(model, x, present=None):
    x = _mask(x, present)
    if "autoregressive" not in model.settings:
        return _lstnet_next(model, x)
    steps = []
    for _ in range(model.horizon):
        step = _lstnet_next(model, x)[:, 0]  # [b, n]
        steps.append(step)
        fed = step if present is None else torch.where(present, step, torch.zeros(()))
        x = torch.cat([x[:, 1:], fed[:, None, :, None]], 1)
    return torch.stack(steps, 1)


def _lstnet_next(model, x):
    """All outputs of the last layers."""
    b, t, n, f = x.shape
    weight = model.conv.weight.permute(0, 2, 1)[:, None]  # [c, 1, taps, n f]
    c = F.relu(F.conv2d(x.reshape(b, 1, t, n * f), weight, model.conv.bias))[..., 0]  # [b, c, steps]
    c = F.dropout(c, model.dropout, model.training)
    state = F.dropout(_gru(model.gru, c.permute(0, 2, 1)), model.dropout, model.training)
    if model.skip_gru is not None:
        phases = c.shape[2] // model.skip
        parts = []
        for phase in range(model.skip):
            steps = [c.shape[2] - phases * model.skip + phase + i * model.skip for i in range(phases)]
            parts.append(_gru(model.skip_gru, c[:, :, steps].permute(0, 2, 1)))
        state = torch.cat([state, F.dropout(torch.cat(parts, 1), model.dropout, model.training)], 1)
    y = F.linear(state, model.output.weight, model.output.bias).view(b, -1, n)
    if model.highway is not None:
        last = x[:, -model.highway.in_features :, :, 0].permute(0, 2, 1)
        y = y + F.linear(last, model.highway.weight, model.highway.bias).permute(0, 2, 1)
    return y


# TCN


def _causal(x, conv):
    weight = conv.g[:, None, None] * conv.v / conv.v.pow(2).sum((1, 2), keepdim=True).sqrt()
    x = F.pad(x, ((conv.kernel - 1) * conv.dilation, 0))
    return F.conv1d(x, weight, conv.bias, dilation=conv.dilation)


def _tcn_next(model, x):
    """All outputs of every block, of which the last step is used."""
    for block in model.blocks:
        h = F.dropout(F.relu(_causal(x, block.conv1)), model.dropout, model.training)
        h = F.dropout(F.relu(_causal(h, block.conv2)), model.dropout, model.training)
        own = x if block.residual is None else F.conv1d(x, block.residual.weight[:, :, None], block.residual.bias)
        x = F.relu(h + own)
    return F.linear(x[:, :, -1], model.output.weight, model.output.bias)


def tcn(model, x, present=None):
    x = _mask(x, present)
    b, t, n, f = x.shape
    x = x.reshape(b, t, n * f).permute(0, 2, 1)  # [b, n f, t]
    if not model.settings["autoregressive"]:
        return _tcn_next(model, x).view(b, model.horizon, n)
    steps = []
    for _ in range(model.horizon):
        step = _tcn_next(model, x)
        steps.append(step)
        fed = step if present is None else torch.where(present, step, torch.zeros(()))
        x = torch.cat([x[:, :, 1:], fed[:, :, None]], 2)
    return torch.stack(steps, 1)


TWINS = {"mtgnn": mtgnn, "astgcn": astgcn, "mstgcn": mstgcn, "lstnet": lstnet, "tcn": tcn}
