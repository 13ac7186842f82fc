"""The conversation on the screen: a reducer, a splitter, a renderer, and one line-API widget over them."""
