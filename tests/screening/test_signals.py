"""Tests of subcast.screening.signals."""
