"""The sentences at the end of an evaluation: what the user's model adds, and whether something simpler is better."""

from __future__ import annotations

from collections.abc import Mapping

from subcast.comparison import Comparison, Gap

WITHOUT_MODEL = "without-model"


def verdict(
    comparison: Comparison, rivals: Mapping[str, str], step: int | None = None, metric: str = "mae"
) -> list[str]:
    """Return the sentences that a user can act on, about the error at one step.

    The last one says what the model adds, or that something simpler is better. The rival is the one that is best on
    the windows of the comparison.

    Parameters
    ----------
    comparison
        errors of "subcast", of "without-model" and of the rivals
    rivals
        by method, what it is called in a sentence
    step
        step of the horizon, counted from 1; the last by default
    metric
        "mae" or "rmse"
    """
    sentences = []
    known = [name for name in rivals if name in comparison.methods]
    simpler_is_better = False
    if known:
        best = min(known, key=lambda name: comparison.row(name, step)[metric])
        gap = comparison.gap("subcast", metric, step, base=best)
        simpler_is_better = gap.lower > 0
        sentences.append(_about_the_rival(gap, rivals[best], metric.upper()))
    if WITHOUT_MODEL in comparison.methods:
        about_the_model = _about_the_model(comparison.gap(WITHOUT_MODEL, metric, step, base="subcast"), metric.upper())
        sentences.insert(0 if simpler_is_better else len(sentences), about_the_model)
    return sentences


def _about_the_model(gap: Gap, error: str) -> str:
    """`gap` is that of the wrapper without the model to the wrapper, `error` the name of the metric."""
    if gap.interval is None:
        return f"Your model adds {gap.gap:+.1f} % to what subcast does without it: too few draws to tell if by chance."
    interval = f"{abs(gap.gap):.1f} % [{_range(gap)}]"
    if gap.lower > 0:
        return f"Your model adds {interval} to what subcast does without it."
    if gap.upper < 0:
        return f"Your model adds nothing: without it the {error} is {interval} smaller. Is it well trained?"
    return f"Your model adds nothing that can be measured here ({gap.gap:+.1f} % [{_signed_range(gap)}])."


def _about_the_rival(gap: Gap, rival: str, error: str) -> str:
    """`gap` is that of the wrapper to the rival, `error` the name of the metric."""
    if gap.interval is None:
        return (
            f"The best simpler method is {rival}; the {error} of subcast is {gap.gap:+.1f} % beside it: too few draws."
        )
    interval = f"{abs(gap.gap):.1f} % [{_range(gap)}]"
    if gap.upper < 0:
        return f"Nothing simpler is better: the {error} of subcast is {interval} smaller than that of {rival}."
    if gap.lower > 0:
        return f"Something simpler is better here: {rival}; the {error} of subcast is {interval} larger."
    return f"subcast and {rival} cannot be told apart here ({gap.gap:+.1f} % [{_signed_range(gap)}])."


def _range(gap: Gap) -> str:
    low, high = sorted((abs(gap.lower), abs(gap.upper)))
    return f"{low:.1f}, {high:.1f}"


def _signed_range(gap: Gap) -> str:
    return f"{gap.lower:+.1f}, {gap.upper:+.1f}"
