
// Sorts a table by the column whose head is pressed, and filters the rows of a long one.
"use strict";
const LONG = 10;

// A number as the page writes it: the last one of a change, without grouping and signs of its unit.
function valueOf(cell) {
  const text = cell.textContent.trim();
  const last = text.split(/→| to /).pop().trim();
  const number = last.replace(/\u2212/g, "-").replace(/[,%\s+]/g, "");
  return number !== "" && isFinite(number) ? Number(number) : text;
}

function compare(first, second) {
  if (typeof first === "number" && typeof second === "number") return first - second;
  if (typeof first === "number") return -1;
  if (typeof second === "number") return 1;
  return first < second ? -1 : first > second ? 1 : 0;
}

function sort(table, column, ascending) {
  const body = table.tBodies[0];
  const keyed = Array.from(body.rows, (row) => [valueOf(row.cells[column]), row]);
  keyed.sort(([a], [b]) => (ascending ? compare(a, b) : compare(b, a)));
  body.append(...keyed.map(([, row]) => row));
  for (const head of table.tHead.rows[0].cells) head.removeAttribute("aria-sort");
  const head = table.tHead.rows[0].cells[column];
  head.setAttribute("aria-sort", ascending ? "ascending" : "descending");
}

function makeSortable(table) {
  for (const head of table.tHead.rows[0].cells) {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () =>
      // numbers are asked for from the largest, names from the first
      sort(table, head.cellIndex, head.getAttribute("aria-sort")
        ? head.getAttribute("aria-sort") === "descending"
        : head.cellIndex === 0));
  }
}

function makeFilter(region, table) {
  const label = document.createElement("label");
  const input = document.createElement("input");
  const found = document.createElement("output");
  input.type = "search";
  label.className = "filter";
  label.append("Rows with ", input, found);
  region.before(label);
  const rows = Array.from(table.tBodies[0].rows, (row) => [row, textOf(row)]);
  input.addEventListener("input", () => {
    const wanted = input.value.trim().toLowerCase();
    let shown = 0;
    for (const [row, text] of rows) {
      row.hidden = !text.includes(wanted);
      shown += row.hidden ? 0 : 1;
    }
    found.textContent = wanted ? shown + " of " + rows.length : "";
  });
}

// What a row says, hotkeys in full.
function textOf(row) {
  const titles = Array.from(row.querySelectorAll("[title]"), (each) => each.title);
  return [row.textContent, ...titles].join(" ").toLowerCase();
}

for (const region of document.querySelectorAll(".wide")) {
  const table = region.querySelector("table");
  if (table.tBodies[0].rows.length < 2) continue;
  makeSortable(table);
  if (table.tBodies[0].rows.length >= LONG) makeFilter(region, table);
}
