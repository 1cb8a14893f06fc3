"use strict";

// Contents: open beside the text where there is room, folded above it on a phone; the section in view is marked.
const contents = document.querySelector(".contents details"), room = matchMedia("(min-width: 72rem)");
const unfold = () => { contents.open = room.matches; };
if (contents) {
  unfold();
  room.addEventListener("change", unfold);
  const links = new Map([...contents.querySelectorAll("a")].map(link => [decodeURIComponent(link.hash.slice(1)), link]));
  const watcher = new IntersectionObserver(seen => {
    for (const { target, isIntersecting } of seen) {
      if (!isIntersecting) continue;
      for (const [place, link] of links) link.toggleAttribute("aria-current", place == target.id);
    }
  }, { rootMargin: "0px 0px -75% 0px" });
  for (const place of links.keys()) {
    const heading = document.getElementById(place);
    if (heading) watcher.observe(heading);
  }
}

// Frames: a slider shows one of several pictures, and says which.
for (const frames of document.querySelectorAll("figure.frames")) {
  const slider = frames.querySelector("input"), said = frames.querySelector("output");
  const pictures = [...frames.querySelectorAll(".frame")];
  if (!slider || !said || !pictures.length) continue;
  const show = () => {
    pictures.forEach((picture, place) => { picture.hidden = place != slider.value; });
    said.textContent = pictures[slider.value].dataset.text;
    slider.setAttribute("aria-valuetext", said.textContent);
  };
  slider.addEventListener("input", show);
  show(); // a browser may remember where the slider was
}

// Tables: a short text is not broken, a long one has room, and a column that is not all numbers begins at the left.
const number = /^([-+−]?(∞|[\d.,]+)(e[-+−]?\d+)?( − [\d.]+e[-+−]?\d+)?( ?%)?( \(.*\))?|[-−–]|NaN|none|)$/;
for (const table of document.querySelectorAll("main table")) {
  for (const cell of table.querySelectorAll("th, td")) cell.className += cell.textContent.length < 25 ? " short" : " long";
  const rows = [...table.rows].map(row => [...row.cells].reverse()); // from the right, because cells on the left may span rows
  for (let column = 0; column < rows[0].length; column++) {
    const cells = rows.map(row => row[column]).filter(Boolean), values = cells.filter(cell => cell.matches("td"));
    if (!values.length || !values.every(cell => number.test(cell.textContent.trim()))) cells.forEach(cell => { cell.className += " words"; });
  }
}

// What is wider than its box can be reached, and so scrolled, with the keyboard.
const reach = () => {
  for (const box of document.querySelectorAll("pre, .scroll, .equation")) {
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0; else box.removeAttribute("tabindex");
  }
};
addEventListener("resize", reach);
document.addEventListener("toggle", reach, true);
reach();

// Search: the words of all sections stand in the index.
const box = document.querySelector("form.search"), query = document.getElementById("query");
const found = document.getElementById("found"), data = document.getElementById("sections");
const plain = text => text.toLowerCase().normalize("NFKD").replace(/[\u0300-\u036f]/g, "");
const sections = data ? JSON.parse(data.textContent).map(one => ({ ...one, low: plain(one.title + " " + one.text) })) : [];

const search = () => {
  const words = plain(query.value).split(/\s+/).filter(word => word.length > 1);
  found.replaceChildren();
  if (!words.length) return;
  const phrase = words.join(" "), rank = one => 2 * words.filter(word => plain(one.title).includes(word)).length + one.low.includes(phrase);
  const hits = sections.filter(one => words.every(word => one.low.includes(word)));
  hits.sort((a, b) => rank(b) - rank(a));
  for (const hit of hits.slice(0, 12)) {
    const item = document.createElement("li"), link = document.createElement("a"), around = document.createElement("small");
    const start = Math.max(0, Math.max(...[words[0], phrase].map(text => plain(hit.text).indexOf(text))) - 40);
    link.href = hit.page;
    link.textContent = hit.title.startsWith(hit.chapter + " ") ? hit.title : hit.chapter + " · " + hit.title;
    around.textContent = " … " + hit.text.slice(start, start + 120) + " …";
    item.append(link, around);
    found.append(item);
  }
  if (!hits.length) {
    const item = document.createElement("li");
    item.textContent = "No section has all of these words.";
    found.append(item);
  }
};
const asked = () => {
  if (!location.hash.startsWith("#search=")) return;
  query.value = decodeURIComponent(location.hash.slice(8));
  query.focus();
  search();
};
if (box) box.addEventListener("submit", event => {
  event.preventDefault();
  if (box.dataset.index) location.href = box.dataset.index + "#search=" + encodeURIComponent(query.value);
});
if (found) {
  query.addEventListener("input", search);
  addEventListener("hashchange", asked);
  asked();
}
