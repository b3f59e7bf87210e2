// Making elements. Text is only ever set as text; nothing here parses markup.
const $ = (id) => document.getElementById(id);

function fill(el, attrs, kids) {
  for (const [k, v] of Object.entries(attrs || {})) {
    if (v === undefined || v === null || v === false) continue;
    if (k === "on") for (const [name, f] of Object.entries(v)) el.addEventListener(name, f);
    else if (k === "css") for (const [p, x] of Object.entries(v)) el.style.setProperty(p, x);
    else el.setAttribute(k, v === true ? "" : v);
  }
  for (const kid of kids.flat(Infinity)) {
    if (kid === undefined || kid === null || kid === false || kid === "") continue;
    el.append(kid instanceof Node ? kid : String(kid));
  }
  return el;
}
const h = (tag, attrs, ...kids) => fill(document.createElement(tag), attrs, kids);
const s = (tag, attrs, ...kids) => fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attrs, kids);

// A section's heading, with words beside it and tools at its end.
const heading = (id, title, words, ...tools) =>
  h("header", {}, h("h2", { id: id + "-title" }, title), words && h("p", {}, words), tools.length ? h("div", { class: "right" }, tools) : null);

// A text cut to a width in pixels.
const ruler = document.createElement("canvas").getContext("2d");
function fit(text, width, font) {
  ruler.font = font.replace("sans-serif", getComputedStyle(document.body).fontFamily);
  if (ruler.measureText(text).width <= width) return text;
  let low = 0, high = text.length;
  while (low < high) {
    const mid = (low + high + 1) >> 1;
    if (ruler.measureText(text.slice(0, mid) + "…").width <= width) low = mid; else high = mid - 1;
  }
  return low ? text.slice(0, low).trimEnd() + "…" : "";
}

// The tooltip follows the pointer over whatever has one.
const tips = new WeakMap();
function tip(el, make) { tips.set(el, make); return el; }
document.addEventListener("pointermove", (e) => {
  const box = $("tip");
  let el = e.target;
  while (el && el !== document && !tips.has(el)) el = el.parentNode;
  if (!el || el === document) { box.hidden = true; return; }
  if (box.of !== el) { box.replaceChildren(...tips.get(el)()); box.of = el; }
  box.hidden = false;
  const w = box.offsetWidth, t = box.offsetHeight;
  box.style.left = Math.max(4, Math.min(e.clientX + 14, innerWidth - w - 8)) + "px";
  box.style.top = (e.clientY + 18 + t > innerHeight ? e.clientY - t - 10 : e.clientY + 18) + "px";
});
