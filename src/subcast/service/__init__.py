"""The live service: readings in, dead sensors found, forecasts out. A front end over the library."""
