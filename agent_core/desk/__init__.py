"""What every face calls, and where all rooms are put together as the config wants it."""
