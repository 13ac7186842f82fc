"""What may be done: verdicts on paths, commands, URLs and texts. Data in, verdict out; nothing here acts."""
