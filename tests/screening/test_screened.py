"""Tests of subcast.screening.screened."""
