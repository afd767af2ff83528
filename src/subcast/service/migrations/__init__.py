"""Alembic migrations of the feed's database, shipped with the package; `subcast serve` runs them."""
