// Live figures, charts that answer to a pointer, and results while you type. Without this script
// every form and link does the same.
(() => {
  // Parts of the page that follow the crawl. The server makes them; they are taken over as they are.
  const PARTS = ["live", "controls", "live-charts"];
  const PAUSE = 1000;
  const events = document.body.dataset.events;
  let asked = 0;
  let isDue = false;

  const isBusy = (part) => {
    const chosen = getSelection();
    return part.contains(document.activeElement)
      || (!chosen.isCollapsed && part.contains(chosen.anchorNode));
  };
  const take = (page, id) => {
    const old = document.getElementById(id);
    const fresh = page.getElementById(id);
    if (!old || !fresh || isBusy(old) || old.innerHTML === fresh.innerHTML) return;
    const open = [...old.querySelectorAll("details")].map((one) => one.open);
    fresh.querySelectorAll("details").forEach((one, at) => { one.open = open[at] ?? one.open; });
    old.replaceWith(document.adoptNode(fresh));
  };
  async function refresh() {
    if (document.hidden) { isDue = true; return; }
    const now = Date.now();
    if (now - asked < PAUSE) {
      if (!isDue) setTimeout(refresh, PAUSE - (now - asked));
      isDue = true;
      return;
    }
    asked = now;
    isDue = false;
    try {
      const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
      if (!answer.ok) return;
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      for (const id of PARTS) take(page, id);
      const badge = page.querySelector(".name .badge");
      if (badge) document.querySelector(".name .badge")?.replaceWith(document.adoptNode(badge));
      document.title = page.title;
    } catch { /* The server may be on its way up again; the next event asks anew. */ }
  }
  if (events && PARTS.some((id) => document.getElementById(id))) {
    const source = new EventSource(events);
    for (const kind of ["status", "state", "note"]) source.addEventListener(kind, refresh);
    document.addEventListener("visibilitychange", () => { if (!document.hidden && isDue) refresh(); });
    addEventListener("pagehide", () => source.close());
  }

  // Charts: the values of a moment, by pointer and by keyboard.
  const rows = (chart) => [...(chart.parentElement.querySelector(".values tbody")?.rows ?? [])];
  const show = (chart, at) => {
    const all = rows(chart);
    const told = chart.querySelector("output");
    const line = chart.querySelector(".cursor");
    if (at === null || !all.length) {
      told.textContent = "";
      line.removeAttribute("d");
      return;
    }
    const row = all[Math.max(0, Math.min(all.length - 1, at))];
    chart.dataset.at = row.sectionRowIndex;
    const heads = [...row.closest("table").tHead.rows[0].cells].map((cell) => cell.textContent);
    told.textContent = [...row.cells]
      .map((cell, column) => column === 0 ? cell.textContent : `${heads[column]} ${cell.textContent}`)
      .join(" · ");
    const x = 1000 * row.sectionRowIndex / Math.max(1, all.length - 1);
    line.setAttribute("d", `M${x} 0V1000`);
  };
  const chartOf = (event) => event.target.closest?.(".chart");
  document.addEventListener("pointermove", (event) => {
    const plot = chartOf(event)?.querySelector("svg");
    if (!plot) return;
    const box = plot.getBoundingClientRect();
    const share = (event.clientX - box.left) / box.width;
    const chart = chartOf(event);
    show(chart, share < 0 || share > 1 ? null : Math.round(share * (rows(chart).length - 1)));
  });
  document.addEventListener("pointerout", (event) => {
    const chart = chartOf(event);
    if (chart && !chart.contains(event.relatedTarget)) show(chart, null);
  });
  document.addEventListener("focusout", (event) => { if (chartOf(event)) show(chartOf(event), null); });
  document.addEventListener("keydown", (event) => {
    const chart = event.target.classList?.contains("chart") ? event.target : null;
    const step = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity }[event.key];
    if (!chart || step === undefined) return;
    event.preventDefault();
    const last = rows(chart).length - 1;
    const at = Number.isFinite(step) ? Number(chart.dataset.at ?? 0) + step : step < 0 ? 0 : last;
    show(chart, at);
  });
})();
