// Draws the charts in the page's colours, again when those change, and for paper; and makes tables sortable.
// A table is whole without this: what sorts, filters and saves it is put there by the script.
"use strict";
const charts = JSON.parse(document.getElementById("charts").textContent);
const settings = {displayModeBar: false, displaylogo: false, showSendToCloud: false, responsive: true,
  showTips: false, typesetMath: false, plotlyServerURL: ""};

function painted(value, key, style) {
  if (Array.isArray(value)) return value.map((item) => painted(item, key, style));
  if (value && typeof value === "object")
    return Object.fromEntries(Object.entries(value).map(([k, item]) => [k, painted(item, k, style)]));
  const named = typeof value === "string" && key.endsWith("color");
  const variable = named && value.match(/^var\((--[a-z-]+)\)$/);
  return variable ? style.getPropertyValue(variable[1]).trim() : value;
}

function draw(onPaper) {
  document.documentElement.classList.toggle("paper", onPaper);
  const style = getComputedStyle(document.documentElement);
  for (const [id, chart] of Object.entries(charts)) {
    const place = document.getElementById(id);
    const figure = painted(chart, "", style);
    if (onPaper) figure.layout.width = Number(place.dataset.paperWidth);
    Plotly.react(place, figure.data, figure.layout, settings);
  }
}

draw(false);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => draw(false));
addEventListener("beforeprint", () => draw(true));
addEventListener("afterprint", () => draw(false));

const BLANK = ["", "\u2013"];

function text(row, column) { return row.cells[column].textContent.trim(); }

function number(cell) { return cell === "infinite" ? Infinity : Number(cell.replaceAll(",", "")); }

function order(a, b, down) {
  // What is withheld stands last either way.
  if (BLANK.includes(a) || BLANK.includes(b)) return BLANK.includes(a) - BLANK.includes(b);
  const apart = number(a) - number(b);
  const found = a === b ? 0 : Number.isNaN(apart) ? a.localeCompare(b, undefined, {numeric: true}) : apart;
  return down ? -found : found;
}

function sort(table, column, down) {
  const rows = [...table.tBodies[0].rows];
  rows.sort((a, b) => order(text(a, column), text(b, column), down));
  table.tBodies[0].append(...rows);
}

function saved(table) {
  // A spreadsheet computes a cell that begins like a formula: an apostrophe keeps it text.
  const plain = (cell) => /^[=+\-@\t\r]/.test(cell) && Number.isNaN(Number(cell)) ? "'" + cell : cell;
  const quoted = (cell) => '"' + plain(cell).replaceAll('"', '""') + '"';
  const rows = [table.tHead.rows[0], ...[...table.tBodies[0].rows].filter((row) => !row.hidden)];
  return rows.map((row) => [...row.cells].map((cell) => quoted(cell.textContent.trim())).join(",")).join("\r\n") + "\r\n";
}

function made(tag, properties, ...inside) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...inside);
  return element;
}

for (const table of document.querySelectorAll("table.sortable")) {
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    const button = made("button", {type: "button"}, ...head.childNodes);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      sort(table, column, down);
    });
    head.append(button);
  });
  const rows = [...table.tBodies[0].rows];
  const field = made("input", {type: "search", placeholder: "any cell"});
  const told = made("output", {});
  const tell = () => { told.textContent = rows.filter((row) => !row.hidden).length + " of " + rows.length + " rows"; };
  field.addEventListener("input", () => {
    const wanted = field.value.toLowerCase().split(/\s+/);
    for (const row of rows) row.hidden = !wanted.every((word) => row.textContent.toLowerCase().includes(word));
    tell();
  });
  const save = made("button", {type: "button"}, "Save as CSV");
  save.addEventListener("click", () => {
    const address = URL.createObjectURL(new Blob([saved(table)], {type: "text/csv"}));
    made("a", {href: address, download: table.dataset.name + ".csv"}).click();
    setTimeout(() => URL.revokeObjectURL(address), 1000);
  });
  tell();
  table.parentElement.before(made("div", {className: "tools"}, made("label", {}, "Filter ", field), save, told));
}
