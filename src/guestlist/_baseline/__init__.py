"""Model-free baseline: can members and non-members be distinguished without querying the model?"""
