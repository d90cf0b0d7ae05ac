"""The page's own script: draws the charts in the page's colours, again when those change, and for paper."""

SCRIPT = """
"use strict";
const charts = JSON.parse(document.getElementById("charts").textContent);
const settings = {displayModeBar: false, displaylogo: false, showSendToCloud: false, responsive: true,
  showTips: false, typesetMath: false, plotlyServerURL: ""};

function painted(value, key, style) {
  if (Array.isArray(value)) return value.map((item) => painted(item, key, style));
  if (value && typeof value === "object")
    return Object.fromEntries(Object.entries(value).map(([k, item]) => [k, painted(item, k, style)]));
  const named = typeof value === "string" && key.endsWith("color");
  const variable = named && value.match(/^var\\((--[a-z-]+)\\)$/);
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
"""
