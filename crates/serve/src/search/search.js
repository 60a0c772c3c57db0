"use strict";
// Results while you type, and keys. Without this script the form and the links do the same.
(() => {
  const PAUSE = 120;
  const box = document.getElementById("q");
  let pause = 0;
  let asked = null;

  const address = () => {
    const fields = new URLSearchParams(new FormData(box.form));
    return box.form.action + "?" + fields;
  };

  // The server makes the page; its results are taken over as they are.
  async function ask() {
    clearTimeout(pause);
    asked?.abort();
    asked = new AbortController();
    const found = document.getElementById("found");
    found.setAttribute("aria-busy", "true");
    const where = address();
    try {
      const answer = await fetch(where + "&typing=1", { signal: asked.signal });
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      found.replaceWith(document.adoptNode(page.getElementById("found")));
      document.title = page.title;
      history.replaceState(null, "", where);
    } catch (error) {
      if (error.name === "AbortError") return;
      found.removeAttribute("aria-busy");
      const status = document.getElementById("status");
      if (status) status.textContent = "The server does not answer; is it still running?";
    }
  }

  function clear() {
    const isEmpty = box.value === "";
    box.value = "";
    box.focus();
    if (!isEmpty) ask();
  }

  // -1 is the box, above the first result.
  function move(to) {
    const hits = [...document.querySelectorAll("a.hit")];
    const at = hits.indexOf(document.activeElement);
    const target = hits[Math.min(at + to, hits.length - 1)] ?? box;
    target.focus();
    target.closest("li")?.scrollIntoView({ block: "nearest" });
  }

  const keys = {
    "/": () => { box.focus(); box.select(); },
    j: () => move(1),
    k: () => move(-1),
    ArrowDown: () => move(1),
    ArrowUp: () => move(-1),
    Escape: clear,
  };

  box.addEventListener("input", () => {
    clearTimeout(pause);
    pause = setTimeout(ask, PAUSE);
  });
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    const isLetter = event.key.length === 1;
    if (!Object.hasOwn(keys, event.key) || (isLetter && event.target === box)) return;
    event.preventDefault();
    keys[event.key]();
  });
})();
