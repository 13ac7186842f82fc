// What stands around textual-serve's terminal: it begins once the fonts are there (cells are measured once), its
// WebSocket goes to the server the page came from, and what ends it is said in words. A line that breaks is opened anew
// by itself: the window waits at the server. What textual-serve's script passes over is done here: titles, the bell, and
// pasting with Ctrl+V.
"use strict";

const CLOSED = { 4000: "ended", 4001: "full", 4002: "failed", 4003: "gone" };
const OSC = "\x1b]";
const TITLE = /\x1b\]2;([^\x07\x1b]*)(?:\x07|\x1b\\)/g;
const WHOLE_OSC = /\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)/g;
const RANG = "\u25cf "; // before the title, until somebody looks
const SOONEST = 500; // milliseconds from a broken line to the first try; each next one is as long again, at most:
const LATEST = 8000;
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
let title = name;
let rang = false;
let tryNow = null; // while the line is broken

function keyboard() {
  return terminal.querySelector("textarea");
}

function tell(what) {
  told.querySelector("span").textContent = told.dataset[what];
  told.querySelector("button").textContent = told.dataset[tryNow ? "tryNow" : "again"];
  show(true);
  told.querySelector("button").focus();
}

function show(is) {
  told.hidden = !is;
  window.dispatchEvent(new Event("resize")); // the terminal has a line less, or more
}

function nameTab() {
  document.title = (rang ? RANG : "") + title;
}

function findTitle(bytes) {
  const text = begun + decoder.decode(bytes, { stream: true });
  for (const found of text.matchAll(TITLE)) title = found[1] || name;
  const last = text.slice(Math.max(0, text.lastIndexOf(OSC)));
  const open = last.startsWith(OSC) && !/\x07|\x1b\\/.test(last) && last.length < LONGEST_OSC;
  begun = open ? last : text.endsWith("\x1b") ? "\x1b" : "";
  if (text.replace(WHOLE_OSC, "").includes("\x07") && !document.hasFocus()) rang = true;
  nameTab();
}

window.addEventListener("focus", () => {
  rang = false;
  nameTab();
});

told.querySelector("button").addEventListener("click", () => (tryNow ? tryNow() : location.reload()));

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

// What textual-serve's script takes for one WebSocket: it opens once and closes once, whatever becomes of the lines below.
const Line = WebSocket;
window.WebSocket = class extends EventTarget {
  constructor(url) {
    super();
    const key = Array.from(crypto.getRandomValues(new Uint8Array(16)), (each) => each.toString(16).padStart(2, "0"));
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches ? "&still=1" : "";
    this.url = `${url}&window=${key.join("")}${still}`;
    this.wait = SOONEST;
    this.connect(this.url);
  }
  connect(url) {
    clearTimeout(this.timer);
    this.line?.close();
    const line = (this.line = new Line(url));
    line.binaryType = "arraybuffer";
    line.addEventListener("open", () => this.opened());
    line.addEventListener("message", (event) => {
      if (event.data instanceof ArrayBuffer) findTitle(event.data);
      this.dispatchEvent(new MessageEvent("message", { data: event.data }));
    });
    line.addEventListener("close", (event) => line === this.line && this.closed(event.code));
  }
  opened() {
    socket = this;
    if (!this.until) this.dispatchEvent(new Event("open"));
    this.until = Infinity;
    this.wait = SOONEST;
    tryNow = null;
    begun = "";
    show(false);
    keyboard().focus();
  }
  closed(code) {
    socket = null;
    if (this.until === Infinity) this.until = Date.now() + 1000 * told.dataset.keeps;
    title = name;
    nameTab();
    if (code in CLOSED || !this.until || Date.now() > this.until) {
      tryNow = null;
      this.dispatchEvent(new Event("close"));
      tell(CLOSED[code] ?? "gone");
      return;
    }
    tryNow = () => this.connect(`${this.url}&again`);
    if (told.hidden) tell("broken");
    this.timer = setTimeout(tryNow, this.wait);
    this.wait = Math.min(2 * this.wait, LATEST);
  }
  send(data) {
    if (this.line.readyState === Line.OPEN) this.line.send(data); // a click before the window is there, or after
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
