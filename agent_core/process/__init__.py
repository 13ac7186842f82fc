"""Run programs: one spawner thread, output bounded while it is read, and process groups that really end.

`command.py` runs one to its end, `running.py` gives its output to the caller, `held.py` keeps one beside ours.
"""
