"""Is this reading believable? Tests of readings in the field's terms (QARTOD), learned from training data."""
