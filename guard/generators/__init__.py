"""Writers: the seam (`base`), plain callables, and models that can only be asked again (`asked`)."""

from groundrail.generators.base import Generator, InProcess, Session
from groundrail.generators.callable import CallableGenerator, as_generator

__all__ = ["CallableGenerator", "Generator", "InProcess", "Session", "as_generator"]
