// Shows the values of a chart under the pointer, sorts and filters tables, and saves both as CSV.
// The page is complete without this script: it adds the elements that need it.
"use strict";

function made(tag, properties, ...inside) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...inside);
  return element;
}

// A spreadsheet computes a cell that begins like a formula: an apostrophe keeps it text. The rule is that of _util/text.py.
const FORMULA = /^[=+\-@\t\r\n]/;
const NUMBER = /^[+\-]?([0-9][0-9,]*\.?[0-9]*|\.[0-9]+)(e[+\-]?[0-9]+)?%?$/i;

function plain(cell) { return FORMULA.test(cell) && !NUMBER.test(cell) ? "'" + cell : cell; }

function saver(words, name, rows) {
  const quoted = (cell) => '"' + plain(String(cell ?? "")).replaceAll('"', '""') + '"';
  const button = made("button", {type: "button"}, words);
  button.addEventListener("click", () => {
    const text = rows().map((row) => row.map(quoted).join(",") + "\r\n").join("");
    const address = URL.createObjectURL(new Blob([text], {type: "text/csv"}));
    made("a", {href: address, download: name + ".csv"}).click();
    setTimeout(() => URL.revokeObjectURL(address), 1000);
  });
  return button;
}

// Charts.

const charts = JSON.parse(document.getElementById("charts").textContent);

function written(axis, value) {
  if (axis.names.length) return axis.names[value];
  return axis.form === "percent" ? Number((100 * value).toPrecision(3)) + "%" : String(Number(value.toPrecision(4)));
}

function range(axis, ends) { return ends ? " (" + written(axis, ends[0]) + " to " + written(axis, ends[1]) + ")" : ""; }

function scale(from, length, low, high, log) {
  const at = (value) => {
    const within = Math.min(Math.max(value, Math.min(low, high)), Math.max(low, high));
    return log ? Math.log(within) : within;
  };
  return (value) => from + length * (at(value) - at(low)) / (at(high) - at(low));
}

function positions(drawing, series) {
  const [left, top, width, height] = drawing.dataset.box.split(" ").map(Number);
  const [x0, x1, xLog, y0, y1, yLog] = drawing.dataset.scales.split(" ").map(Number);
  const across = scale(left, width, x0, x1, xLog), up = scale(top + height, -height, y0, y1, yLog);
  return series.x.map((x, i) => x === null || series.y[i] === null ? null : [across(x) + series.offset, up(series.y[i])]);
}

function distance([x, y], [x0, y0], [x1, y1]) {
  const long = (x1 - x0) ** 2 + (y1 - y0) ** 2;
  const share = long ? Math.min(Math.max(((x - x0) * (x1 - x0) + (y - y0) * (y1 - y0)) / long, 0), 1) : 0;
  return Math.hypot(x - x0 - share * (x1 - x0), y - y0 - share * (y1 - y0));
}

function nearest(drawing, chart, pointer) {
  // Returns the point with the nearest mark or line segment; a step goes right and then up.
  let closest = {distance: 24};
  chart.series.forEach((series, number) => {
    if (!series.hover || !series.y) return;
    const at = positions(drawing, series);
    at.forEach((position, i) => {
      if (!position) return;
      const last = series.line && i && at[i - 1] || position;
      const corner = series.step ? [position[0], last[1]] : last;
      const separation = Math.min(distance(pointer, last, corner), distance(pointer, corner, position));
      const near = Math.abs(pointer[0] - last[0]) < Math.abs(pointer[0] - position[0]) ? i - 1 : i;
      if (separation < closest.distance) closest = {distance: separation, number, series, i: at[near] ? near : i};
    });
  });
  return closest.series && closest;
}

function showTooltip(container, chart) {
  const box = made("div", {className: "tooltip", hidden: true});
  container.append(box);
  const clear = () => {
    box.hidden = true;
    for (const old of container.querySelectorAll(".pointed")) old.classList.remove("pointed");
  };
  container.addEventListener("pointerleave", clear);
  const follow = (event) => {
    const drawing = event.target.closest("svg");
    clear();
    if (!drawing) return;
    const bounds = drawing.getBoundingClientRect(), zoom = drawing.viewBox.baseVal.width / bounds.width;
    const closest = nearest(drawing, chart, [(event.clientX - bounds.left) * zoom, (event.clientY - bounds.top) * zoom]);
    if (!closest) return;
    const {series, i} = closest;
    const line = (axis, which) => made("div", {}, (axis.title ? axis.title + ": " : "") + written(axis, series[which][i])
      + range(axis, (series[which + "_ends"] ?? [])[i]));
    box.replaceChildren(made("b", {}, series.name), line(chart.y, "y"), line(chart.x, "x"));
    box.hidden = false;
    const around = container.getBoundingClientRect();
    const left = event.clientX - around.left, top = event.clientY - around.top;
    box.style.left = Math.max(0, Math.min(left + 14, around.width - box.offsetWidth)) + "px";
    box.style.top = (top > box.offsetHeight + 14 ? top - box.offsetHeight - 10 : top + 18) + "px";
    for (const mark of container.querySelectorAll('[data-series="' + closest.number + '"]')) mark.classList.add("pointed");
  };
  container.addEventListener("pointermove", follow);
  container.addEventListener("pointerdown", follow);
}

function columned(chart) {
  const either = (name) => chart.series.some((series) => series[name]);
  const columns = [["series", (series) => series.name]];
  for (const which of ["x", "y"]) {
    const axis = chart[which], title = axis.title || "of";
    const cell = (value) => value === null || value === undefined ? "" : axis.names.length ? axis.names[value] : value;
    columns.push([title, (series, i) => cell((series[which] ?? [])[i])]);
    if (either(which + "_ends")) for (const [end, word] of ["low", "high"].entries())
      columns.push([title + ", " + word, (series, i) => cell(((series[which + "_ends"] ?? [])[i] ?? [])[end])]);
  }
  const rows = chart.series.flatMap((series) => series.x.map((_, i) => columns.map(([, cell]) => cell(series, i))));
  return [columns.map(([title]) => title), ...rows];
}

for (const [id, chart] of Object.entries(charts)) {
  const container = document.getElementById(id);
  showTooltip(container, chart);
  container.after(made("div", {className: "tools small"}, saver("Data as CSV", id, () => columned(chart))));
}

// Open collapsed sections for printing.

let collapsed = [];
addEventListener("beforeprint", () => {
  collapsed = [...document.querySelectorAll("details:not([open])")];
  for (const details of collapsed) details.open = true;
});
addEventListener("afterprint", () => { for (const details of collapsed) details.open = false; });

// On a narrow screen the contents would push the page away.

if (matchMedia("screen and (max-width: 44rem)").matches) document.querySelector("nav details").open = false;

// Open the collapsed section that a link leads into.

function expand() {
  const wanted = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  for (let details = wanted && wanted.closest("details"); details; details = details.parentElement.closest("details")) details.open = true;
  if (wanted) wanted.scrollIntoView();
}
addEventListener("hashchange", expand);
expand();

// Tables.

const BLANK = ["", "\u2013"];

function text(row, column) { return row.cells[column].textContent.trim(); }

function number(cell) { return cell === "infinite" ? Infinity : Number(cell.replaceAll(",", "")); }

function order(a, b, down) {
  // Withheld values are last in both directions.
  if (BLANK.includes(a) || BLANK.includes(b)) return BLANK.includes(a) - BLANK.includes(b);
  const difference = number(a) - number(b);
  const result = a === b ? 0 : Number.isNaN(difference) ? a.localeCompare(b, undefined, {numeric: true}) : difference;
  return down ? -result : result;
}

function sort(table, column, down) {
  const rows = [...table.tBodies[0].rows];
  rows.sort((a, b) => order(text(a, column), text(b, column), down));
  table.tBodies[0].append(...rows);
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
  const rowCount = made("output", {});
  const count = () => { rowCount.textContent = rows.filter((row) => !row.hidden).length + " of " + rows.length + " rows"; };
  field.addEventListener("input", () => {
    const wanted = field.value.toLowerCase().split(/\s+/);
    for (const row of rows) row.hidden = !wanted.every((word) => row.textContent.toLowerCase().includes(word));
    count();
  });
  const visible = () => [table.tHead.rows[0], ...[...table.tBodies[0].rows].filter((row) => !row.hidden)];
  const cells = () => visible().map((row) => [...row.cells].map((cell) => cell.textContent.trim()));
  const save = saver("Save as CSV", table.dataset.name, cells);
  count();
  table.parentElement.before(made("div", {className: "tools"}, made("label", {}, "Filter ", field), save, rowCount));
}
