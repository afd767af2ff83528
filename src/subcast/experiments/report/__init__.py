"""The page that sets our figures beside the published ones, written from the records."""
