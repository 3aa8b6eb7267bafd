"""Room 2: texts → feature matrix."""

from .tfidf import Tfidf, TfidfConfig

__all__ = ["Tfidf", "TfidfConfig"]
