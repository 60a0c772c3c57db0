"use strict";
// Shows all findings with filters, and the table of pages in windows. Without it the findings are a
// plain list. Texts reach the page as text nodes only.
(() => {
  const at = (id) => document.getElementById(id);
  const number = new Intl.NumberFormat("en");
  const count = (value, noun) => `${number.format(value)} ${noun}${value === 1 ? "" : "s"}`;
  const make = (name, className, text) => {
    const element = document.createElement(name);
    if (className) element.className = className;
    if (text !== undefined) element.textContent = text;
    return element;
  };
  const elided = (text, most) => {
    if (text.length <= most) return text;
    const kept = most - 1;
    return `${text.slice(0, kept - Math.floor(kept / 3))}…${text.slice(-Math.floor(kept / 3))}`;
  };
  const origin = (url) => /^https?:\/\/[^/?#]*/.exec(url)?.[0] ?? "";
  // A URL with its host dimmed, or what else stands where a URL should.
  const linked = (url, most = 160) => {
    const host = origin(url);
    if (!host) {
      const code = make("code");
      code.append(make("bdi", "", elided(url, most)));
      return code;
    }
    const link = make(url.length < 2048 ? "a" : "span", "url");
    if (url.length < 2048) {
      link.href = url;
      link.title = url;
      link.rel = "noopener noreferrer";
      link.target = "_blank";
    }
    link.append(make("i", "", host), elided(url.slice(host.length), most));
    return link;
  };
  const later = (work) => {
    let timer = 0;
    return () => {
      clearTimeout(timer);
      timer = setTimeout(work, 120);
    };
  };

  // The issues.
  const RULE = 0, PAGE = 1, ABOUT = 2, EVIDENCE = 3, LINE = 4, TEXT = 5, MEND = 6, COUNT = 7, KNOWN = 8, FILE = 9, SAMPLES = 10;
  const SHAPES = { error: "■", warning: "▲", notice: "●" };
  const CHUNK = 60;
  const PLACES = 10;
  const issues = () => {
    const { rules, texts, rows } = JSON.parse(at("findings").textContent);
    const list = at("list");
    const rest = at("rest");
    const folders = texts.map((text) => {
      const host = origin(text);
      const path = host ? text.slice(host.length).split(/[?#]/)[0] : "";
      const end = path.indexOf("/", 1);
      return host ? host + (end > 0 ? path.slice(0, end + 1) : "/") : "";
    });
    const lower = texts.map((text) => text.toLowerCase());
    const fill = (select, values) => {
      for (const [value, name] of values) {
        const option = make("option", "", name);
        option.value = value;
        select.append(option);
      }
    };
    fill(at("rule"), rules.map((rule, index) => [String(index), rule[0]]));
    const sizes = new Map();
    for (const row of rows) sizes.set(folders[row[PAGE]], (sizes.get(folders[row[PAGE]]) ?? 0) + row[COUNT]);
    const largest = [...sizes].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1)).slice(0, 100);
    fill(at("folder"), largest.map(([name, size]) => [name, `${elided(name, 60)} (${number.format(size)})`]));

    const severity = (name) => make("span", name, `${SHAPES[name]} ${name}`);
    const place = (row, shown) => {
      const item = make("li");
      item.append(linked(shown ?? texts[row[PAGE]]));
      if (shown === undefined) {
        if (row[LINE]) item.append(" ", make("span", "soft", `line ${row[LINE]}`));
        if (row[TEXT]) {
          const quote = make("q");
          quote.append(make("bdi", "", texts[row[TEXT]]));
          item.append(" ", quote);
        }
        if (row[FILE]) item.append(" ", make("code", "", texts[row[FILE]]));
      }
      return item;
    };
    const places = (found, own) => {
      const listed = make("ul", "places");
      const all = [];
      for (const row of found) {
        if (own) all.push([row, undefined]);
        for (const sample of row.slice(SAMPLES)) all.push([row, texts[sample]]);
      }
      const total = found.reduce((sum, row) => sum + row[COUNT], 0) - (own ? 0 : found.length);
      const add = (from, to) => {
        for (const [row, shown] of all.slice(from, to)) listed.append(place(row, shown));
        const left = total - Math.min(to, all.length);
        if (left <= 0) return;
        const more = make("li", "soft");
        if (to < all.length) {
          const button = make("button", "", `Show ${count(Math.min(left, 200), "more page")}`);
          button.type = "button";
          button.addEventListener("click", () => {
            more.remove();
            add(to, to + 200);
            listed.children[Math.min(from + PLACES, listed.children.length - 1)]?.querySelector("a, button")?.focus();
          });
          more.append(button);
        } else more.textContent = `and ${count(left, "other page")}`;
        listed.append(more);
      };
      add(0, PLACES);
      return listed;
    };
    const entry = (found, byPage) => {
      const [row] = found;
      const box = make("div", "entry");
      const what = make("p", "what");
      if (byPage) {
        const [id, name] = rules[row[RULE]];
        what.append(severity(name), ` ${id} `);
      }
      if (row[ABOUT] || !byPage) what.append(linked(texts[row[ABOUT] || row[PAGE]]), " ");
      const evidence = make("span", "evidence");
      evidence.append(make("bdi", "", texts[row[EVIDENCE]]));
      what.append(evidence);
      if (row[KNOWN]) what.append(" ", make("span", "badge", "known"));
      if (byPage && row[LINE]) what.append(" ", make("span", "soft", `line ${row[LINE]}`));
      if (byPage && row[TEXT]) {
        const quote = make("q");
        quote.append(make("bdi", "", texts[row[TEXT]]));
        what.append(" ", quote);
      }
      box.append(what);
      if (row[MEND]) {
        const mend = make("p", "mend", "write ");
        mend.append(linked(texts[row[MEND]]));
        box.append(mend);
      }
      if (!byPage || row[COUNT] > 1) box.append(places(found, !byPage && row[ABOUT] > 0));
      return box;
    };
    const ruleHead = (rule, total) => {
      const [id, name, summary, mend] = rules[rule];
      const head = make("h3");
      head.append(severity(name), ` ${id} `, make("span", "summary", summary), make("span", "n", number.format(total)));
      return mend ? [head, make("p", "help", mend)] : [head];
    };
    const pageHead = (page, total) => {
      const head = make("h3");
      head.append(linked(texts[page]), make("span", "n", number.format(total)));
      return [head];
    };
    // Groups of entries, each with what makes its head; nothing is drawn yet.
    const grouped = (chosen, byPage) => {
      const groups = new Map();
      for (const row of chosen) {
        const name = byPage ? row[PAGE] : row[RULE];
        let group = groups.get(name);
        if (!group) groups.set(name, (group = { name, total: 0, worst: 9, entries: new Map() }));
        group.total += row[COUNT];
        group.worst = Math.min(group.worst, row[RULE]);
        const cause = byPage || !row[ABOUT] ? row : row[ABOUT];
        const found = group.entries.get(cause);
        if (found) found.push(row);
        else group.entries.set(cause, [row]);
      }
      const all = [...groups.values()];
      const size = (found) => found.reduce((sum, row) => sum + row[COUNT], 0);
      for (const group of all) {
        group.entries = [...group.entries.values()];
        if (!byPage) group.entries.sort((a, b) => size(b) - size(a));
      }
      if (byPage) all.sort((a, b) => a.worst - b.worst || b.total - a.total);
      return all;
    };
    let drawMore = () => {};
    const draw = () => {
      const byPage = at("by").value === "page";
      const rule = at("rule").value;
      const folder = at("folder").value;
      const words = at("find").value.toLowerCase().trim().split(/\s+/).filter(Boolean);
      const wanted = new Set([...document.querySelectorAll("[name=severity]:checked")].map((box) => box.value));
      const newOnly = at("new")?.checked ?? false;
      const holds = (row, word) => rules[row[RULE]][0].includes(word)
        || [PAGE, ABOUT, EVIDENCE, TEXT, FILE].some((part) => lower[row[part]].includes(word));
      const chosen = rows.filter((row) => wanted.has(rules[row[RULE]][1])
        && (rule === "" || row[RULE] === Number(rule))
        && (folder === "" || folders[row[PAGE]] === folder)
        && !(newOnly && row[KNOWN])
        && words.every((word) => holds(row, word)));
      const groups = grouped(chosen, byPage);
      at("shown").textContent = count(chosen.reduce((sum, row) => sum + row[COUNT], 0), "finding");
      list.replaceChildren();
      let group = 0;
      let next = 0;
      drawMore = () => {
        const parts = document.createDocumentFragment();
        for (let drawn = 0; drawn < CHUNK && group < groups.length; drawn += 1) {
          const { name, total, entries } = groups[group];
          if (next === 0) parts.append(...(byPage ? pageHead(name, total) : ruleHead(name, total)));
          parts.append(entry(entries[next], byPage));
          next += 1;
          if (next === entries.length) {
            group += 1;
            next = 0;
          }
        }
        list.append(parts);
        const isDone = group >= groups.length;
        rest.hidden = isDone && chosen.length > 0;
        rest.textContent = isDone ? "No finding matches the filter." : "More as you scroll …";
      };
      drawMore();
    };
    for (const id of ["by", "rule", "folder", "new"]) at(id)?.addEventListener("change", draw);
    for (const box of document.querySelectorAll("[name=severity]")) box.addEventListener("change", draw);
    at("find").addEventListener("input", later(draw));
    new IntersectionObserver((seen) => {
      if (seen.some((one) => one.isIntersecting)) drawMore();
    }, { rootMargin: "800px" }).observe(rest);
    at("issue-tools").hidden = false;
    draw();
  };
  if (at("findings")) issues();

  // The table of pages: only the rows in sight are elements.
  const COLUMNS = ["Page", "Title", "Status", "Issues", "Depth", "Size", "Time", "In", "Out"];
  const pages = () => {
    const rows = JSON.parse(at("rows").textContent);
    const origins = [];
    for (const row of rows) {
      if (typeof row[0] === "string") origins.push(row[0]);
      else row[0] = origins[row[0]];
    }
    const frame = at("window");
    const table = frame.querySelector("table");
    const body = table.tBodies[0];
    const heads = [...table.tHead.rows[0].cells];
    const bytes = (value) => {
      const units = ["B", "kB", "MB", "GB"];
      let unit = 0;
      let rest = value;
      while (rest >= 999.5 && unit < 3) {
        rest /= 1000;
        unit += 1;
      }
      return `${unit && rest < 99.95 ? rest.toFixed(1) : Math.round(rest)} ${units[unit]}`;
    };
    const time = (value) => (value < 0 ? "–" : value >= 10000 ? `${(value / 1000).toFixed(1)} s` : `${number.format(value)} ms`);
    const values = [
      (row) => row[0] + row[1], (row) => row[2], (row) => row[3], (row) => row[4], (row) => row[5],
      (row) => row[6], (row) => row[7], (row) => row[8], (row) => row[9],
    ];
    const space = () => {
      const row = make("tr", "space");
      row.setAttribute("aria-hidden", "true");
      const cell = make("td");
      cell.colSpan = COLUMNS.length;
      row.append(cell);
      return row;
    };
    const [above, below] = [space(), space()];
    let shown = rows;
    let height = 36;
    const line = (row) => {
      const element = make("tr");
      const page = make("td");
      page.append(linked(row[0] + row[1], 90));
      const title = make("td");
      title.title = row[2];
      title.append(make("bdi", "", row[2]));
      const texts = [row[3] || "none", row[4] ? number.format(row[4]) : "–", row[5], bytes(row[6]), time(row[7]), number.format(row[8]), number.format(row[9])];
      const cells = texts.map((text, index) => {
        const cell = make("td", "n", text);
        cell.dataset.name = COLUMNS[index + 2];
        return cell;
      });
      if (row[3] >= 400 || row[3] === 0) cells[0].classList.add("bad");
      element.append(page, title, ...cells);
      return element;
    };
    let first = -1;
    const draw = (anew) => {
      const visible = Math.ceil(frame.clientHeight / height) + 20;
      const from = Math.max(0, Math.min(Math.floor(frame.scrollTop / height) - 10, shown.length - visible));
      if (!anew && from === first) return;
      first = from;
      const until = Math.min(shown.length, from + visible);
      above.style.height = above.firstChild.style.height = `${from * height}px`;
      below.style.height = below.firstChild.style.height = `${(shown.length - until) * height}px`;
      const held = document.activeElement?.closest?.("#window tr") ? document.activeElement.href : null;
      body.replaceChildren(above, ...shown.slice(from, until).map(line), below);
      if (held) [...body.querySelectorAll("a")].find((link) => link.href === held)?.focus({ preventScroll: true });
    };
    const measure = () => {
      const row = body.querySelector("tr:not(.space)");
      const measured = row?.getBoundingClientRect().height;
      if (measured && Math.abs(measured - height) > 0.01) {
        height = measured;
        draw(true);
      }
    };
    let order = null;
    const choose = () => {
      const words = at("page-find").value.toLowerCase().trim().split(/\s+/).filter(Boolean);
      const withIssues = at("page-issues").checked;
      shown = words.length || withIssues ? rows.filter((row) => {
        const text = `${row[0]}${row[1]} ${row[2]} ${row[3]}`.toLowerCase();
        return (!withIssues || row[4] > 0) && words.every((word) => text.includes(word));
      }) : rows.slice();
      if (order) {
        const value = values[order.column];
        const sign = order.down ? -1 : 1;
        shown.sort((a, b) => {
          const [left, right] = [value(a), value(b)];
          return left < right ? -sign : left > right ? sign : 0;
        });
      }
      at("page-shown").textContent = count(shown.length, "page");
      frame.scrollTop = 0;
      draw(true);
      measure();
    };
    heads.forEach((head, column) => {
      const button = make("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const down = order?.column === column ? !order.down : column > 1;
        order = { column, down };
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        choose();
      });
    });
    at("page-tools").hidden = false;
    frame.hidden = false;
    at("page-find").addEventListener("input", later(choose));
    at("page-issues").addEventListener("change", choose);
    let waiting = false;
    frame.addEventListener("scroll", () => {
      if (waiting) return;
      waiting = true;
      requestAnimationFrame(() => {
        waiting = false;
        draw(false);
      });
    }, { passive: true });
    addEventListener("resize", later(() => {
      measure();
      draw(true);
    }));
    choose();
  };
  if (at("rows")) pages();

  // The list of redirects.
  const copy = at("copy");
  if (copy) {
    copy.hidden = false;
    copy.addEventListener("click", async () => {
      const list = at("copied");
      try {
        await navigator.clipboard.writeText(list.textContent);
        copy.textContent = "Copied";
      } catch {
        getSelection().selectAllChildren(list);
        copy.textContent = "Selected: press Ctrl+C";
      }
    });
  }
})();
