"use strict";
// Draws the figures, sorts and filters the tables, and hides cells everywhere at once. Needs window.vegaEmbed.
(() => {
  const specifications = JSON.parse(document.getElementById("specifications").textContent);
  const form = document.getElementById("filter");
  const views = [];

  // The names that a filter keeps; null keeps all. A part that is a whole name means that name alone.
  function kept(input) {
    const parts = input.value.split(",").map((part) => part.trim().toLowerCase()).filter(Boolean);
    if (!parts.length) return null;
    const names = [...input.list.options].map((option) => option.value);
    const whole = new Set(names.map((name) => name.toLowerCase()));
    return names.filter((name) => parts.some(
      (part) => whole.has(part) ? name.toLowerCase() === part : name.toLowerCase().includes(part)));
  }

  function filterCells() {
    const checkpoints = kept(form.elements.checkpoint);
    const benchmarks = kept(form.elements.benchmark);
    for (const view of views) {
      view.signal("shown_checkpoints", checkpoints).signal("shown_benchmarks", benchmarks).runAsync();
    }
    const misses = (names, name) => names !== null && name !== undefined && !names.includes(name);
    for (const row of document.querySelectorAll("tr[data-checkpoint], tr[data-benchmark]")) {
      row.classList.toggle("off",
        misses(checkpoints, row.dataset.checkpoint) || misses(benchmarks, row.dataset.benchmark));
    }
    document.querySelectorAll(".table").forEach(showRows);
    const counted = (names, input, noun) => names === null ? "" : `${names.length} of ${input.list.options.length} ${noun}`;
    form.querySelector("output").value = [
      counted(checkpoints, form.elements.checkpoint, "checkpoints"),
      counted(benchmarks, form.elements.benchmark, "benchmarks"),
    ].filter(Boolean).join(", ");
  }

  function showRows(table) {
    const box = table.querySelector("input.rows");
    const sought = box ? box.value.trim().toLowerCase() : "";
    const rows = [...table.querySelectorAll("tbody tr")];
    let n = 0;
    for (const row of rows) {
      row.hidden = row.classList.contains("off") || !row.textContent.toLowerCase().includes(sought);
      n += !row.hidden;
    }
    const shown = table.querySelector(".shown");
    if (shown) shown.textContent = n === rows.length ? `${n} rows` : `${n} of ${rows.length} rows`;
  }

  function sortBy(head) {
    const column = head.cellIndex;
    const body = head.closest("table").tBodies[0];
    const up = head.getAttribute("aria-sort") !== "ascending";
    const value = (row) => {
      const cell = row.cells[column];
      if (cell.classList.contains("words")) return cell.textContent;
      return cell.dataset.v === undefined ? null : Number(cell.dataset.v);
    };
    const order = new Intl.Collator("en", { numeric: true }).compare;
    const rows = [...body.rows].map((row) => [value(row), row]);
    rows.sort(([a], [b]) => {
      if (a === null || b === null) return (a === null) - (b === null); // what is undefined stays last
      const difference = typeof a === "string" ? order(a, b) : a - b;
      return up ? difference : -difference;
    });
    for (const each of head.parentNode.cells) each.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", up ? "ascending" : "descending");
    body.append(...rows.map(([, row]) => row));
  }

  document.querySelectorAll("th button").forEach(
    (button) => button.addEventListener("click", () => sortBy(button.parentNode)));
  document.querySelectorAll("input.rows").forEach(
    (box) => box.addEventListener("input", () => showRows(box.closest(".table"))));
  const drawn = [...document.querySelectorAll("[data-figure]")].map(async (place) => {
    const result = await window.vegaEmbed(place, specifications[place.dataset.figure], {
      renderer: "svg",
      ast: true, // the policy of the page forbids code made from text
      tooltip: { theme: "custom" },
      actions: { export: true, source: false, compiled: false, editor: false },
      downloadFileName: place.dataset.figure,
    });
    if ("shown_checkpoints" in result.view.getState().signals) views.push(result.view);
  });
  Promise.all(drawn).then(() => { document.body.dataset.drawn = drawn.length; });
  if (form) {
    form.addEventListener("input", filterCells);
    form.addEventListener("reset", () => setTimeout(filterCells));
    form.addEventListener("submit", (event) => event.preventDefault());
  }
})();
