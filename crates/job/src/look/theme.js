"use strict";
// Keeps the theme that was chosen; the choice itself works without this script.
(() => {
  const theme = document.getElementById("theme");
  if (!theme) return;
  const KEY = "clewline-theme";
  // A page from a file may have no place to keep it.
  try { theme.value = localStorage.getItem(KEY) ?? ""; } catch { return; }
  if (theme.selectedIndex < 0) theme.value = "";
  theme.addEventListener("change", () => {
    try { localStorage.setItem(KEY, theme.value); } catch { /* It holds for this page. */ }
  });
})();
