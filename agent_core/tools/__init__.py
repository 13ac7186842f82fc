"""The tools a model may call, one family a file.

A tool is a record (ports.Tool) of plain functions. `effect` tells from the arguments alone what it touches, `prepare`
checks and works out without changing anything, and what it returns is run once rules and the person have agreed to
exactly that. `builtin.py` lists them, `call.py` takes a call from the model's request to its result;
`consent.py` has it decided.
"""
