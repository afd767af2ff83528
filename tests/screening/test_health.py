"""Tests of subcast.screening.health."""
