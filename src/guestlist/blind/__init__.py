"""The blind baseline: can members be told from non-members without asking the model?"""
