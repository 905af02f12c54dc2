"""Evaluation harnesses and benchmarks, most of them with an outcome."""
