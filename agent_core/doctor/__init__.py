"""What is in order on this machine and what is not, each with what mends it (DOC-01).

Nothing is changed, nothing of a project is run, and no key is shown: only where it comes from. `examination.py` lists
the checks, each room holds those of one subject.
"""
