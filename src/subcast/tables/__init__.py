"""Read any table of readings: one parser, two policies.

Every input takes the same path:

1. A file becomes a frame (`files`, `text`, `hdf5`) or arrays (`npz`).
2. A frame or an array becomes rows: names, values and times (`frames`, `arrays`, with the help of `flatten`, `times`,
   `dates` and `numbers`). Each step reports a problem, such as text among the numbers, to a policy (`policy`).
3. The rows are put on regular steps.

Training data are read with the policy `Repair`, which repairs what it can and notes it; `grid` puts all rows on the
grid of their own times and `clean` returns a `Table`. Live data are read with the policy `Strict`, which refuses
whatever could mean two things; `lookback` puts the last rows on the steps that a forecaster was trained with and
`live` returns `Recent`.

Nothing is imported here, so that arrays can be read without loading pandas.
"""
