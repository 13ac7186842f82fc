"""A live session: its worker thread, what it is told and what it tells, its turns and what comes between them."""
