"""The program in a browser: `nanoherm-tui serve --web`.

door.py says who may come in, server.py answers the browser, window.py holds one run of the program in a
pseudo-terminal, child.py is that run's first step. The terminal on the page is textual-serve's (xterm.js); page.html,
page.css and page.js stand around it. docs/browser.md says what a user must know.
"""
