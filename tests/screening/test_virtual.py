"""Tests of subcast.screening.virtual."""
