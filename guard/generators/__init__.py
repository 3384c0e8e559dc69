"""Writers: the seam with plain callables (`base`), and models that can only be asked again (`asked`)."""

from groundrail.generators.base import CallableGenerator, Generator, InProcess, Session, as_generator

__all__ = ["CallableGenerator", "Generator", "InProcess", "Session", "as_generator"]
