"""Python functions as tools of a local model: ``from edgestudio.tools import edge_tool``.

``edgestudio.tools`` marks functions; ``edgestudio.testing`` calls them in your own tests with the checks that edge makes.
The modules whose names begin with an underscore are edge's runner. They may change at any time.
"""
import sys as _sys

__version__ = "0.1.0"

if _sys.version_info < (3, 10):
    raise ImportError("edgestudio needs Python 3.10 or newer; this is %d.%d at %s"
                      % (_sys.version_info[0], _sys.version_info[1], _sys.executable))
