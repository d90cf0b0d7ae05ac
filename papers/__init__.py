"""Five papers, reproduced from guestlist's public names: one package each, with a command per table.

The results of a full run are committed as JSON files. The pages of the docs, their pictures and CSV files are made from
them: our results compared with the published results.
"""
