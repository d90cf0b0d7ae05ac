"""WaKA: Data Attribution using K-Nearest Neighbors and Membership Privacy Principles (Mesana et al.).

``python -m papers.waka all`` runs everything and writes ``results/`` and the page; each table has a command, such as
``python -m papers.waka table1 --repeats 10``.
"""
