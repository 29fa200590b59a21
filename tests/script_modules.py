"""Scripts as modules, though their files may have no ``.py``."""

import importlib.util
from importlib.machinery import SourceFileLoader


def loaded(file):
    loader = SourceFileLoader(f"script_{file.stem}", str(file))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module
