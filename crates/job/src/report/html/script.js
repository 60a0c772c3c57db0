"use strict";
// Makes the tables sortable; without it they are plain tables.
for (const table of document.querySelectorAll("table.sort")) {
  const body = table.tBodies[0];
  const heads = [...table.tHead.rows[0].cells];
  const value = (row, at) => {
    const cell = row.cells[at];
    return "v" in cell.dataset ? Number(cell.dataset.v) : cell.textContent.trim();
  };
  const order = (a, b) =>
    typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b));
  heads.forEach((head, at) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "descending"
        || (!head.hasAttribute("aria-sort") && !head.classList.contains("n"));
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", down ? "ascending" : "descending");
      const rows = [...body.rows].sort((a, b) => order(value(a, at), value(b, at)));
      body.append(...(down ? rows : rows.reverse()));
    });
  });
}
