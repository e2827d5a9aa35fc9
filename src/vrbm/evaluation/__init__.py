"""Evaluation: how good a trained model is, with errors."""
