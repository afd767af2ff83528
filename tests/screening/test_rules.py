"""Tests of subcast.screening.rules."""
