"""Themes: files, roles of colours, which one is drawn with, and changes while the program runs."""
