"""Sphinx's settings; `scripts/build_docs` runs it on the folder of sources that it makes."""

import collections
import importlib.metadata
import inspect
import pydoc
import re
import subprocess
from pathlib import Path

project = "posenc_jax"
author = "the authors of posenc_jax"
version = release = importlib.metadata.version("posenc-jax")
_asked = ["git", "rev-parse", "--short=10", "HEAD"]  # in the folder that the build is started in
_commit = subprocess.run(_asked, capture_output=True, text=True, check=False).stdout.strip()
# Every page ends with it.
project_copyright = f"the authors of posenc_jax, Apache-2.0. posenc_jax {version}" + (_commit and f", commit {_commit}")
language = "en"

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton"]
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
# Private names stand in annotations and among the bases of classes.
nitpick_ignore_regex = [("py:.*", r"(?!posenc_jax\.).*|.*\._\w+")]
add_module_names = False
python_use_unqualified_type_names = True
maximum_signature_line_length = 88

# Docstrings. A name in single backticks is a link where it is one of the package; a class says of its fields what
# they mean, and its signature has their types and defaults.
default_role = "py:obj"
highlight_language = "none"
autodoc_member_order = "bysource"
autodoc_use_type_comments = False
autodoc_inherit_docstrings = False
napoleon_use_param = False
napoleon_custom_sections = [("Attributes", "params_style"), ("Class facts", "params_style")]

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
    """Formulas as MathML, code that stays together, and the names of docstrings."""
    app.add_html_math_renderer("mathml", inline_renderers=(formula, None), block_renderers=(formula, None))
    app.connect("doctree-read", convert)
    app.connect("doctree-resolved", unbroken)
    app.connect("html-page-context", open_one_branch, priority=400)  # before the theme asks for the tree
    app.connect("autodoc-skip-member", left_out)
    app.connect("autodoc-process-signature", without_inner_defaults)
    app.connect("missing-reference", where_it_is_defined)


def open_one_branch(app, page, template, context, doctree):
    """Opens the branch of the page alone in the sidebar; the whole tree on each page took most of a build's time."""
    if whole := context.get("toctree"):
        context["toctree"] = lambda **options: whole(**(options | {"collapse": True}))


def convert(app, doctree):
    """A wrong formula is a warning with its page, which ends the build; a name means what it means in its module."""
    from documenting.formula import mathml
    from docutils import nodes
    from sphinx.addnodes import pending_xref
    from sphinx.util import logging

    for node in doctree.findall():  # of no other document, which would hold all of Sphinx, and be kept with each page
        node.document = doctree
    for node in doctree.findall(pending_xref):  # or each is compared with the ends of all names
        node.attributes.pop("refspecific", None)
    for node in [node for node in doctree.findall(nodes.paragraph) if node.astext() == "Bases: object"]:
        node.parent.remove(node)
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


def left_out(app, kind, name, value, skip, options):
    """Of modules all classes and functions are listed, but constants elsewhere; fields of tuples are in a signature."""
    if kind == "module" and not name.startswith("_"):
        above = name in (options.exclude_members or ())
        return above or not (inspect.isclass(value) or inspect.isroutine(value))
    return True if isinstance(value, collections._tuplegetter) else None


def without_inner_defaults(app, kind, name, value, options, arguments, returns):
    """A default that is a config stands as its class alone, which has a signature of its own."""
    return arguments and re.sub(r"= ([A-Z]\w+)\(\w+=[^()]*(\([^()]*\)[^()]*)*\)", r"= \1(...)", arguments), returns


def where_it_is_defined(app, env, node, shown):
    """Links a name that the module of a docstring imports, or offers, to where it is defined."""
    python, asked = env.domains.python_domain, (node.get("py:module"), node["reftarget"].removesuffix("()"))
    if node["refdomain"] != "py":
        return None
    if asked not in _homes:
        _homes[asked] = home(*asked, python.objects)
    full = _homes[asked]
    return full and python.resolve_xref(env, node["refdoc"], app.builder, "obj", full, node, shown)


_homes = {}


def home(module, target, known):
    """The name in full, of those that are known, of what a name means in a module; None for what is not of ours."""
    for name in (f"{module}.{target}", target):
        value = pydoc.locate(name) if name.startswith("posenc_jax.") else None
        if value is not None:
            own = [full for full in known if full.endswith(f".{target.rpartition('.')[2]}")]
            return next((full for full in own if pydoc.locate(full) is value), None)
    return None
