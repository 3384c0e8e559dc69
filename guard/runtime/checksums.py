"""Files that are used only if their bytes are the expected ones."""

import hashlib
from pathlib import Path

from groundrail.errors import ModelError


def sha256_of(file: Path) -> str:
    """The SHA-256 of a file's bytes, in hexadecimal digits."""
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def require_sha256(file: Path, expected: str, advice: str) -> None:
    """Raises: ModelError with `advice` for a file whose bytes are others."""
    digest = sha256_of(file)
    if digest != expected:
        raise ModelError(f"{file} has SHA-256 {digest}, expected {expected}: not used. {advice}")
