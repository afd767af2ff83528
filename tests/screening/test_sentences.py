"""Tests of subcast.screening.sentences."""
