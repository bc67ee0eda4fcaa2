// What a page does besides being read: the map folds on a narrow screen, light and dark change by a button, what
// scrolls sideways can be reached with the keyboard, and a page that is printed has its folds open.
"use strict";

const root = document.documentElement;
root.classList.add("js");

const menu = document.getElementById("menu"), map = document.getElementById("map");
menu.addEventListener("click", () => menu.setAttribute("aria-expanded", map.classList.toggle("open")));

const theme = document.getElementById("theme"), system = matchMedia("(prefers-color-scheme: dark)");
const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
const name = () => { theme.textContent = isDark() ? "Light" : "Dark"; };
theme.addEventListener("click", () => {
  root.dataset.theme = isDark() ? "light" : "dark";
  try { localStorage.setItem("theme", root.dataset.theme); } catch {} // not where pages are opened as files
  name();
});
system.addEventListener("change", name);
name();

// Tables get a box of their own, which scrolls; what is long in them is not squeezed to a word a line.
for (const table of document.querySelectorAll("main table")) {
  for (const cell of table.querySelectorAll("td")) cell.classList.toggle("long", cell.textContent.length > 24);
  const box = Object.assign(document.createElement("div"), {className: "table"});
  table.replaceWith(box);
  box.append(table);
}

const SCROLLING = {figure: "Figure", table: "Table", output: "Output", math: "Equation", PRE: "Code"};
function reach(box) {
  const scrolls = box.scrollWidth > box.clientWidth;
  const kind = SCROLLING[[...box.classList].find(one => one in SCROLLING) ?? box.tagName];
  const given = scrolls ? {tabindex: 0, role: "group", "aria-label": `${kind}, scrolls sideways`} : {};
  box.classList.toggle("scrolls", scrolls);
  for (const attribute of ["tabindex", "role", "aria-label"])
    attribute in given ? box.setAttribute(attribute, given[attribute]) : box.removeAttribute(attribute);
}
const boxes = [...document.querySelectorAll(".figure, .table, .output, div.math, .highlight pre")];
const resized = new ResizeObserver(entries => entries.forEach(({target}) => reach(target)));
boxes.forEach(box => resized.observe(box));
window.MathJax?.startup?.promise.then(() => boxes.forEach(reach)); // an equation widens what a table holds, not its box

// The picture of the front page plays by itself where motion is welcome: ▶, which also stops it, is the player's. What
// changes is read aloud only once somebody has touched it.
const first = document.querySelector(".first .living");
if (first && !matchMedia("(prefers-reduced-motion: reduce)").matches) {
  const status = first.querySelector("[role=status]");
  status.setAttribute("aria-live", "off");
  for (const kind of ["pointerdown", "keydown"])
    first.addEventListener(kind, () => status.removeAttribute("aria-live"), {once: true});
  new MutationObserver((_, watch) => { watch.disconnect(); first.querySelector(".living-play")?.click(); })
    .observe(first, {attributes: true, attributeFilter: ["data-ready"]});
}

let opened = [];
addEventListener("beforeprint", () => {
  opened = [...document.querySelectorAll("main details:not([open], .numbers)")];
  opened = opened.filter(one => !one.querySelector(".highlight"));
  for (const one of opened) one.open = true;
});
addEventListener("afterprint", () => { for (const one of opened) one.open = false; });
