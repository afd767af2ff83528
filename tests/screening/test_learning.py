"""Tests of subcast.screening.learning."""
