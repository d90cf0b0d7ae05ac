"""SHAPr: An Efficient and Versatile Membership Privacy Risk Metric for Machine Learning (Duddu, Szyller & Asokan).

``python -m papers.shapr all`` runs everything and writes ``results/`` and the page; each dataset has a command, such as
``python -m papers.shapr location30 --repeats 1``.
"""
