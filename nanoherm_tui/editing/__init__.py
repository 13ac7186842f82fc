"""How a draft is edited, as far as no screen is needed for it: what the caret steps over, kills, and vim's keys."""
