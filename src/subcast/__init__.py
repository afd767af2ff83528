"""Keep forecasting when only some of the variables arrive."""
