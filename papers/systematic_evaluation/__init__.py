"""Systematic Evaluation of Privacy Risks of Machine Learning Models (Song & Mittal 2021).

``python -m papers.systematic_evaluation all`` runs everything and writes ``results/`` and the page; each table has a
command, such as ``python -m papers.systematic_evaluation table3 --repeats 1``.
"""
