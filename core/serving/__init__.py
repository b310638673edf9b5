"""Answering other programs over HTTP."""
