"use strict";
(() => {
  const root = document.documentElement;
  const table = document.getElementById("loops");
  const theme = document.getElementById("theme");
  theme.addEventListener("click", () => {
    const dark = root.dataset.theme
      ? root.dataset.theme === "dark"
      : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
    theme.setAttribute("aria-pressed", String(!dark));
  });
  if (!table) return;
  const body = table.tBodies[0];
  const rows = Array.from(body.rows);
  const texts = rows.map((row) => row.textContent.toLowerCase());
  const search = document.getElementById("search");
  const rule = document.getElementById("rule");
  const ended = document.getElementById("ended");
  const shown = document.getElementById("shown");
  const filter = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    let count = 0;
    rows.forEach((row, i) => {
      const fits =
        words.every((word) => texts[i].includes(word)) &&
        (!rule.value || row.dataset.rule === rule.value) &&
        (!ended.value || row.dataset.ended === ended.value);
      row.hidden = !fits;
      count += fits;
    });
    shown.textContent = `${count} of ${rows.length} shown`;
  };
  search.addEventListener("input", filter);
  rule.addEventListener("change", filter);
  ended.addEventListener("change", filter);
  document.addEventListener("keydown", (event) => {
    const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
    if (event.key === "/" && !typing) {
      event.preventDefault();
      search.focus();
    } else if (event.key === "Escape" && event.target === search) {
      search.value = "";
      filter();
    }
  });
  table.tHead.querySelectorAll("button").forEach((button) => {
    const head = button.closest("th");
    button.addEventListener("click", () => {
      const up = head.getAttribute("aria-sort") === "descending";
      table.tHead.querySelectorAll("th[aria-sort]").forEach((th) => th.setAttribute("aria-sort", "none"));
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      const value = (row) => {
        const cell = row.cells[head.cellIndex];
        return cell.dataset.value === undefined ? cell.textContent : Number(cell.dataset.value);
      };
      const sign = up ? 1 : -1;
      const ordered = rows.map((row, i) => [value(row), i, row]);
      ordered.sort((a, b) => {
        const order = a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : 0;
        return order * sign || a[1] - b[1];
      });
      body.append(...ordered.map((entry) => entry[2]));
    });
  });
  const open = () => {
    const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (target) {
      const details = target.closest("details");
      if (details) details.open = true;
      target.scrollIntoView();
      target.focus({ preventScroll: true });
    }
  };
  addEventListener("hashchange", open);
  open();
  filter();
})();
