"""The operating system and SHA-256 without the modules os and hashlib, which take longer to import."""
from __future__ import annotations

__all__ = ["sha256", "system"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os as system
    from hashlib import sha256
else:
    try:
        import posix as system
    except ImportError:
        import nt as system
    try:
        from _sha2 import sha256  # Python 3.12 and newer
    except ImportError:
        try:
            from _sha256 import sha256
        except ImportError:
            from hashlib import sha256
