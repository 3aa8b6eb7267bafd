"""Texts → feature matrix."""

from .tfidf import USUAL_TFIDF, Tfidf, TfidfConfig, fitted_tfidf

__all__ = ["USUAL_TFIDF", "Tfidf", "TfidfConfig", "fitted_tfidf"]
