"""The site: ``make docs``. Pages are the Markdown files of this folder, and the reference is made from docstrings."""

from importlib import metadata

project = "guestlist"
release = metadata.version("guestlist")
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
html_theme = "furo"
html_title = f"guestlist {release}"
html_extra_path = ["llms.txt"]
exclude_patterns = ["_build", "jupyter_execute"]
myst_heading_anchors = 4
# The build runs the notebooks; a cell that fails stops it.
nb_execution_mode = "auto"
nb_execution_in_temp = True
nb_execution_raise_on_error = True
nb_execution_timeout = 300  # seconds per cell, for slow machines
# Words in backticks in docstrings are code, not links to somewhere.
default_role = "literal"
autodoc_member_order = "alphabetical"
autodoc_typehints = "none"  # signatures of frozen dataclasses would be longer than what is said about them
napoleon_use_rtype = False
napoleon_use_param = False  # entries such as "members, nonmembers:" document several parameters
napoleon_use_ivar = True
suppress_warnings = ["myst.header"]  # papers' pages begin some sections at the third level
