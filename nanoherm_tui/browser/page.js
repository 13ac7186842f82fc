// What stands around textual-serve's terminal: it begins once the fonts are there (cells are measured once), its
// WebSocket goes to the server the page came from, and what ends it is said in words.
"use strict";

const CLOSED = { 4000: "ended", 4001: "full", 4002: "failed" };
const terminal = document.querySelector("#terminal");
const told = document.querySelector("#told");
let running = false;

function tell(name) {
  told.querySelector("span").textContent = told.dataset[name];
  told.hidden = false;
  window.dispatchEvent(new Event("resize")); // the terminal has a line less
  told.querySelector("button").focus();
}

told.querySelector("button").addEventListener("click", () => location.reload());

// A tab closed by a key that is meant for the program (Ctrl+W) is asked about first.
window.addEventListener("beforeunload", (event) => {
  if (running) event.preventDefault();
});

window.WebSocket = class extends WebSocket {
  constructor(...given) {
    super(...given);
    this.addEventListener("open", () => {
      running = true;
      terminal.querySelector("textarea").focus();
    });
    this.addEventListener("close", (event) => {
      running = false;
      tell(CLOSED[event.code] ?? "gone");
    });
  }
};

window.addEventListener("load", async () => {
  if (!document.createElement("canvas").getContext("webgl2")) return tell("noWebgl");
  const styles = ["", "bold ", "italic ", "bold italic "];
  await Promise.allSettled(styles.map((style) => document.fonts.load(`${style}16px "Roboto Mono"`)));
  const ground = matchMedia("(prefers-color-scheme: light)").matches ? "light" : "dark";
  const scheme = location.protocol === "https:" ? "wss" : "ws";
  terminal.dataset.sessionWebsocketUrl = `${scheme}://${location.host}${location.pathname}window/${ground}`;
  const script = document.createElement("script");
  script.src = "textual.js";
  script.addEventListener("load", () => window.onload()); // the page has loaded before: this begins the terminal
  document.body.append(script);
});
