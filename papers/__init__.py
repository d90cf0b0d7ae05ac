"""The founding papers, reproduced from guestlist's public names: one module each, with a command per table.

The results of a full run are committed as small JSON files, and a page of the docs is made from them, with the
paper's figures beside ours. Where ours differ, the page says so and why.
"""
