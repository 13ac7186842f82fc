"""Text as data: cutting, cleaning, decoding, matching, comparing."""
