// What stands around textual-serve's terminal: it begins once the fonts are there (cells are measured once), its
// WebSocket goes to the server the page came from, and what ends it is said in words. What its script passes over is
// done here: titles, and pasting with Ctrl+V.
"use strict";

const CLOSED = { 4000: "ended", 4001: "full", 4002: "failed" };
const OSC = "\x1b]";
const TITLE = /\x1b\]2;([^\x07\x1b]*)(?:\x07|\x1b\\)/g;
const LONGEST_OSC = 4096;
// Keys of the program that the terminal would send as others or keep for itself.
const KEYS = {
  "Shift+Enter": "\x1b[13;2u",
  "Ctrl+Backspace": "\x1b[127;5u",
  "Shift+PageUp": "\x1b[5;2~",
  "Shift+PageDown": "\x1b[6;2~",
  "Alt+ArrowUp": "\x1b[1;3A",
};
const IMAGE_MOST = 15 << 20; // bytes of one message; an image as large is refused by the program, in words

const terminal = document.querySelector("#terminal");
const told = document.querySelector("#told");
const name = document.title;
const decoder = new TextDecoder();
let socket = null;
let begun = ""; // of a sequence whose end has not come yet

function keyboard() {
  return terminal.querySelector("textarea");
}

function tell(what) {
  told.querySelector("span").textContent = told.dataset[what];
  told.hidden = false;
  window.dispatchEvent(new Event("resize")); // the terminal has a line less
  told.querySelector("button").focus();
}

function findTitle(bytes) {
  const text = begun + decoder.decode(bytes, { stream: true });
  for (const found of text.matchAll(TITLE)) document.title = found[1] || name;
  const last = text.slice(Math.max(0, text.lastIndexOf(OSC)));
  const open = last.startsWith(OSC) && !/\x07|\x1b\\/.test(last) && last.length < LONGEST_OSC;
  begun = open ? last : text.endsWith("\x1b") ? "\x1b" : "";
}

told.querySelector("button").addEventListener("click", () => location.reload());

// A tab closed by a key that is meant for the program (Ctrl+W) is asked about first.
window.addEventListener("beforeunload", (event) => {
  if (socket) event.preventDefault();
});

// The terminal would send Ctrl+V as a key: the browser pastes instead.
document.addEventListener(
  "keydown",
  (event) => {
    if (event.isComposing || event.target !== keyboard()) return;
    const held = ["Ctrl", "Alt", "Shift", "Meta"].filter((each) => event[`${each.toLowerCase()}Key`]).join("+");
    const sends = KEYS[`${held}+${event.key}`];
    if (!sends && !(event.code === "KeyV" && /^Ctrl(\+Shift)?$/.test(held))) return;
    event.stopImmediatePropagation();
    if (!sends) return;
    event.preventDefault();
    socket?.send(JSON.stringify(["stdin", sends]));
  },
  true,
);
document.addEventListener(
  "paste",
  (event) => {
    const image = [...event.clipboardData.files].find((file) => file.type.startsWith("image/"));
    if (!image || event.clipboardData.getData("text/plain")) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    socket?.send(image.slice(0, IMAGE_MOST));
  },
  true,
);

window.WebSocket = class extends WebSocket {
  constructor(...given) {
    super(...given);
    this.addEventListener("open", () => {
      socket = this;
      keyboard().focus();
    });
    this.addEventListener("message", (event) => {
      if (event.data instanceof ArrayBuffer) findTitle(event.data);
    });
    this.addEventListener("close", (event) => {
      socket = null;
      document.title = name;
      tell(CLOSED[event.code] ?? "gone");
    });
  }
  send(data) {
    if (this.readyState === WebSocket.OPEN) super.send(data); // a click before the window is there, or after
  }
};

window.addEventListener("load", async () => {
  if (!document.createElement("canvas").getContext("webgl2")) return tell("noWebgl");
  const styles = ["", "bold ", "italic ", "bold italic "];
  await Promise.allSettled(styles.map((style) => document.fonts.load(`${style}16px "Roboto Mono"`)));
  const scheme = matchMedia("(prefers-color-scheme: light)").matches ? "light" : "dark";
  const here = location.origin.replace(/^http/, "ws") + location.pathname;
  terminal.dataset.sessionWebsocketUrl = `${here}window/${scheme}`;
  const script = document.createElement("script");
  script.src = "textual.js";
  script.addEventListener("load", () => window.onload()); // the page has loaded before: this begins the terminal
  document.body.append(script);
});
