"""The web for a session: one door for every URL, pages as text, engines that search."""
