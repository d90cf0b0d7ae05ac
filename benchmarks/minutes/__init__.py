"""Audits of models that are expensive to retrain: few reference models, or a budget of minutes."""
