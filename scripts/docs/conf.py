"""Sphinx's settings; `scripts/build_docs` runs it on the folder of sources that it makes."""

import importlib.metadata
import subprocess
from pathlib import Path

project = "posenc_jax"
author = "the authors of posenc_jax"
version = importlib.metadata.version("posenc-jax")
_asked = ["git", "rev-parse", "--short=10", "HEAD"]  # in the folder that the build is started in
_commit = subprocess.run(_asked, capture_output=True, text=True, check=False).stdout.strip()
# Every page ends with it.
project_copyright = f"the authors of posenc_jax, Apache-2.0. posenc_jax {version}" + (_commit and f", commit {_commit}")
language = "en"

extensions = ["myst_nb", "sphinx_copybutton"]
root_doc = "index"
exclude_patterns = ["files", "_small"]

# Nothing is fetched when a page is read: no fonts, scripts or inventories of other sites.
html_theme = "furo"
html_title = "posenc_jax"
html_static_path = ["_static"]
html_extra_path = ["_small"]
html_css_files = ["site.css"]
html_js_files = ["sidebar.js"]
html_search_scorer = str(Path(__file__).with_name("scorer.js"))
html_math_renderer = "mathml"
html_show_sourcelink = False
html_copy_source = False
html_show_search_summary = False  # it would fetch pages, which a browser refuses for files
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#0b5c8a", "color-brand-content": "#0b5c8a"},
    "dark_css_variables": {"color-brand-primary": "#6fb7e0", "color-brand-content": "#6fb7e0"},
}

myst_enable_extensions = ["colon_fence", "deflist"]
myst_fence_as_directive = ["math"]
myst_heading_anchors = 4
suppress_warnings = ["myst.header"]  # pages that commands write begin sections at the third level

# Pages with code are run; what they gave is kept until the code of the package changes.
nb_execution_mode = "cache"
nb_execution_cache_path = "../cache"
nb_execution_timeout = 180
nb_execution_raise_on_error = False  # it would end all; the warning fails too, and the build prints the cell
nb_execution_in_temp = True
nb_merge_streams = True

# Names of the package must lead somewhere; those of other projects are not linked, so that no network is needed.
nitpicky = True
# Readers of the words of command lines stand in annotations of options.
nitpick_ignore_regex = [("py:.*", r"(?!posenc_jax\.).*|posenc_jax\.cli\.errors\.\w+")]
add_module_names = False
python_use_unqualified_type_names = True
maximum_signature_line_length = 88

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True


LONGEST_UNBROKEN = 32
"""Characters of code in a text that fit on a line of a phone."""


def unbroken(app, doctree, page):
    """Marks short pieces of code, such as names of options, which would be broken at a hyphen."""
    from docutils import nodes

    for node in doctree.findall(nodes.literal):
        if len(node.astext()) <= LONGEST_UNBROKEN:
            node["classes"].append("unbroken")


def setup(app):
    """Formulas as MathML, code that stays together, and names that are found quickly."""
    app.add_html_math_renderer("mathml", inline_renderers=(formula, None), block_renderers=(formula, None))
    app.connect("doctree-read", convert)
    app.connect("doctree-resolved", unbroken)
    app.connect("html-page-context", open_one_branch, priority=400)  # before the theme asks for the tree
    find_names_quickly()


def open_one_branch(app, page, template, context, doctree):
    """Opens the branch of the page alone in the sidebar; the whole tree on each page took most of a build's time."""
    if whole := context.get("toctree"):
        context["toctree"] = lambda **options: whole(**(options | {"collapse": True}))


def convert(app, doctree):
    """A wrong formula is a warning with its page, which ends the build."""
    from documenting.formula import mathml
    from docutils import nodes
    from sphinx.util import logging

    for node in doctree.findall(lambda node: isinstance(node, nodes.math | nodes.math_block)):
        try:
            node["mathml"] = mathml(node.astext(), block=isinstance(node, nodes.math_block))
        except ValueError as error:
            logging.getLogger(__name__).warning(str(error), location=node)
            node["mathml"] = ""
        node.clear()  # or the search would find words of LaTeX


def formula(writer, node):
    """What `convert` made; a displayed formula scrolls where it is wider than the page."""
    from docutils import nodes

    inline = isinstance(node, nodes.math)
    writer.body.append(node["mathml"] if inline else f'<div class="math">{node["mathml"]}</div>\n')
    raise nodes.SkipNode


def find_names_quickly():
    """Sphinx compares every name that it does not know with all that it knows: not where none of them ends so."""
    from sphinx.domains.python import PythonDomain

    find, ends = PythonDomain.find_obj, {}

    def find_obj(self, env, modname, classname, name, *more):
        if len(ends) != 1 or len(self.objects) not in ends:
            ends.clear()
            ends[len(self.objects)] = {own.rpartition(".")[2] for own in self.objects}
        known = name.removesuffix("()").rpartition(".")[2] in ends[len(self.objects)]
        return find(self, env, modname, classname, name, *more) if known else []

    PythonDomain.find_obj = find_obj
