// The panel of one task: its facts, and its attempts with all their texts. They are
// read from the page, or asked for, when the task is opened.
let selected = -1, before = null, shownDetail = "";

async function detailOf(i) {
  const inside = $("d" + i);
  if (inside) { // compressed, in base64
    const packed = Uint8Array.from(atob(JSON.parse(inside.textContent)), (c) => c.charCodeAt(0));
    return new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate-raw"))).json();
  }
  const answer = await fetch("task/" + i, { cache: "no-store" });
  if (!answer.ok) throw new Error("the server answers " + answer.status);
  return answer.json();
}

function open(i, quiet) {
  if (selected < 0) before = document.activeElement;
  const moved = selected !== i;
  selected = i;
  if (moved) shownDetail = "";
  document.body.classList.add("paneled");
  $("panel").hidden = false;
  mark();
  const hash = "#task=" + encodeURIComponent(run.tasks[i].id);
  if (!quiet && location.hash !== hash) history.replaceState(null, "", hash);
  detailOf(i).then((d) => { if (selected === i) drawPanel(i, d, moved); },
    (e) => { if (selected === i) drawPanel(i, { failed: String(e.message || e) }, moved); });
}

function shut() {
  if (selected < 0) return;
  const was = selected;
  selected = -1; shownDetail = "";
  document.body.classList.remove("paneled");
  $("panel").hidden = true;
  history.replaceState(null, "", location.pathname + location.search);
  mark();
  const button = document.querySelector(`#rows tr[data-i="${was}"] .open`);
  if (before && before.isConnected && before !== document.body) before.focus(); else if (button) button.focus();
}

// Marks the open task in every view.
function mark() {
  for (const r of document.querySelectorAll("#rows tr[data-i]")) {
    const on = +r.dataset.i === selected;
    r.classList.toggle("sel", on);
    r.querySelector(".open").setAttribute("aria-expanded", String(on));
  }
  graph.nodes.forEach((n, k) => n.classList.toggle("sel", selected >= 0 && graph.of[selected] === k));
  for (const x of document.querySelectorAll(".span.sel")) x.classList.remove("sel");
  if (selected >= 0) for (const x of document.querySelectorAll(".span.of-" + selected)) x.classList.add("sel");
}

function neighbour(by) {
  const list = view.shown.length ? view.shown : run.tasks.map((_, i) => i);
  const at = list.indexOf(selected);
  const to = at < 0 ? (by > 0 ? 0 : list.length - 1) : at + by;
  if (to >= 0 && to < list.length) open(list[to]);
}

function drawPanel(i, d, moved) {
  const same = JSON.stringify([run.tasks[i], d]);
  if (same === shownDetail) return; // nothing new, and what is unfolded stays so
  shownDetail = same;
  const t = run.tasks[i], box = $("panel"), at = box.scrollTop;
  const opened = moved ? null : new Set([...box.querySelectorAll("details[open]")].map((x) => x.dataset.k));
  const title = h("h2", { id: "panel-title", tabindex: -1 }, t.subject || t.id);
  const waiting = run.tasks.flatMap((other, k) => (other.on || []).includes(i) ? [k] : []);
  const fact = (name, value, wide) => value !== null && value !== undefined && value !== "" && (!Array.isArray(value) || value.length) ? h("div", { class: wide ? "full" : "" }, h("dt", {}, name), h("dd", { class: wide ? "wide" : "" }, value)) : null;
  const { input: inn = 0, output: out = 0, cache_read: read = 0, cache_write: write = 0 } = t.tokens || {};
  const body = [
    h("header", {}, h("div", { class: "idline" }, h("span", { class: "mono" }, t.id), badge(t.status), t.known ? h("span", { class: "muted" }, t.known) : null),
      h("div", { class: "buttons" }, h("button", { type: "button", class: "icon", "aria-label": "Previous task", title: "Previous (k)", on: { click: () => neighbour(-1) } }, "↑"),
        h("button", { type: "button", class: "icon", "aria-label": "Next task", title: "Next (j)", on: { click: () => neighbour(1) } }, "↓"),
        h("button", { type: "button", class: "icon", "aria-label": "Close", title: "Close (Esc)", on: { click: shut } }, "✕")), title),
    t.reason && t.status !== "completed" ? h("p", { class: "reason " + cls(t.status) }, t.reason) : null,
    d.failed ? h("p", { class: "reason st-failed" }, "The details are not to be had: " + d.failed) : null,
    h("dl", { class: "facts" }, fact("Wave", t.wave + " of " + run.waves), fact("Cost", money(t.cost) + (t.counsel ? `, counsel ${money(t.counsel)}` : "")), fact("Time", took(t.took || 0)),
      fact("Attempts", t.attempts || 0), total(t.tokens) ? fact("Tokens", `${count(inn + read + write)} in, ${count(out)} out`) : null, fact("Model", d.model), fact("Plan line", d.line || null),
      fact("Waits for", taskButtons(t.on || [], i), true), fact("Is waited for by", taskButtons(waiting, i), true),
      fact("Description", d.description && h("span", { class: "prose" }, d.description), true), fact("Command", d.command && h("code", {}, d.command), true),
      fact("Files", d.files && h("code", { class: "prose" }, d.files.join("\n")), true), fact("Checks", d.verify && h("code", { class: "prose" }, d.verify.join("\n")), true),
      fact("Criteria", d.criteria && h("span", { class: "prose" }, d.criteria.join("\n")), true)),
    h("h3", {}, (d.attempts || []).length ? "Attempts" : d.failed ? "" : "No attempt yet"),
    (d.attempts || []).map((a, k) => attempt(a, k === d.attempts.length - 1)),
  ];
  box.replaceChildren(...body.flat().filter(Boolean));
  if (opened) for (const x of box.querySelectorAll("details")) x.open = opened.has(x.dataset.k) || (!opened.size && x.open);
  box.scrollTop = moved ? 0 : at;
  if (moved) title.focus({ preventScroll: true });
}

const fold = (key, name, ...kids) => h("details", { class: "fold", "data-k": key }, h("summary", {}, name), kids);
const why = { first: "first try", retry: "retry", continue: "more money for the same work", again: "once more, not its fault" };

function attempt(a, last) {
  const k = "a" + a.attempt, parts = [], end = a.end, r = end ? end.result : {}, detail = a.reopened ? a.reopened.result.detail : r.detail;
  const facts = [why[a.why] || a.why, a.advised && "with counsel's advice", a.resume && "in the same session"].filter(Boolean).join(", ");
  const sum = [r.duration ? took(r.duration / 1e6) : "", r.cost ? money(r.cost) + (a.cap ? " of at most " + money(a.cap) : "") : "", r.turns ? plural(r.turns, "turn") : "", total(r.usage) ? count(total(r.usage)) + " tokens" : "", end && !end.charged ? "no iteration" : ""].filter(Boolean).join(" · ");
  if (r.reason && r.outcome !== "done") parts.push(h("p", { class: "prose " }, r.reason));
  if (r.violated) parts.push(list("What must not become true, and did", r.violated));
  if (a.refusals) parts.push(list("Denied by the policy", a.refusals));
  if (r.denials) parts.push(list("Refused; the rules that would allow it", r.denials.map((d) => d.rule)));
  if (end && !r.contained) parts.push(h("p", { class: "st-failed badge" }, "Something the attempt started was alive after it."));
  if (r.checks) {
    parts.push(h("div", {}, h("h4", {}, `Checks ${r.checks.filter((c) => c.passed).length}/${r.checks.length}`), h("ul", { class: "checks" }, r.checks.map((c) => h("li", {},
      h("span", { class: "badge " + (c.passed ? "st-done" : "st-failed") }, sign(c.passed ? "✓" : "✕"), c.passed ? "passed" : "failed"), h("code", {}, c.check),
      h("span", { class: "muted" }, [c.duration >= 1e6 ? "  " + took(c.duration / 1e6) : "", c.reason ? "  " + c.reason : ""].join("")), c.output && !c.passed ? h("pre", { tabindex: 0 }, c.output) : null)))));
  }
  if (detail && !(r.checks || []).some((c) => !c.passed && c.output)) parts.push(h("div", {}, h("h4", {}, "Detail"), h("pre", { class: "wrap", tabindex: 0 }, detail)));
  if (a.words) parts.push(h("div", {}, h("h4", {}, "The agent's report, in its own words"), h("div", { class: "words" }, a.words.map(markup))));
  if (a.output) parts.push(h("div", {}, h("h4", {}, "Output"), h("pre", { tabindex: 0 }, a.output)));
  if (a.steps) parts.push(fold(k + "steps", "What the agent said and did, and its edits as its tools tell them", h("ol", { class: "steps" }, a.steps.map((x) => h("li", { class: (x.s ? "inner " : "") + (x.f ? "st-failed" : "") },
    x.e ? diff(x.x) : x.k === "tool" ? h("code", {}, x.x) : x.k === "answer" ? h("pre", { class: "wrap", tabindex: 0 }, x.x) : h("p", { class: "prose" }, x.x))))));
  if (a.prompt) parts.push(fold(k + "prompt", "Prompt", h("pre", { class: "wrap", tabindex: 0 }, a.prompt)));
  if (r.session || r.claude_version || r.worker) parts.push(h("p", { class: "muted" }, [r.worker && "on " + r.worker, r.claude_version && "claude " + r.claude_version, r.session && "session " + r.session, r.priced && "cost from the " + r.priced].filter(Boolean).join(" · ")));
  if (a.note) parts.push(h("p", { class: "muted" }, "Then: " + a.note));
  for (const c of a.counsel || []) parts.push(counsel(c));
  return h("details", { class: "attempt", open: last, "data-k": k }, h("summary", {}, h("b", {}, "Attempt " + a.attempt), outcomes(r.outcome || ""), h("span", { class: "muted" }, facts), sum && h("span", { class: "muted" }, sum)),
    h("div", { class: "in" }, h("p", { class: "muted" }, "Started " + local(a.started)), parts));
}

// The elements that Markdown of an agent may become. Its text is text.
const elements = new Set(["p", "h5", "h6", "ul", "ol", "li", "pre", "code", "em", "strong", "del", "blockquote", "hr", "table", "tr", "td", "a"]);
function markup(m) {
  const kids = [m.x, (m.k || []).map(markup)];
  if (!elements.has(m.t)) return kids;
  const attrs = m.t === "a" && /^https?:\/\//.test(m.u || "") ? { href: m.u, rel: "noopener noreferrer", target: "_blank" } : m.t === "pre" ? { tabindex: 0 } : {};
  return h(m.t, attrs, kids);
}

const list = (name, items) => h("div", {}, h("h4", {}, name), h("ul", {}, items.map((x) => h("li", {}, h("code", {}, x)))));

function counsel(panel) {
  const c = panel.verdict, none = panel.skipped ? "no panel was asked: " + panel.skipped : c.unavailable;
  if (none) return h("div", { class: "panelbox" }, h("h4", {}, "Counsel"), h("p", {}, none));
  return h("div", { class: "panelbox" }, h("h4", {}, `Counsel ${panel.panel}: ${c.action || "retry"}, agreement ${Math.round(100 * (c.agreement || 0))} %${c.tradeoff ? ", a genuine tradeoff" : ""}, ${money(c.cost)}`),
    c.analysis && h("p", { class: "prose" }, c.analysis), c.fix && h("p", { class: "prose" }, h("b", {}, "Advice: "), c.fix),
    (c.dissent || []).map((x) => h("p", { class: "muted" }, "Dissent: " + x)),
    (c.opinions || []).length ? fold("c" + panel.panel, plural(c.opinions.length, "opinion"), c.opinions.map((o) => h("div", { class: "opinion" }, h("b", {}, o.expert),
      o.unavailable ? h("p", { class: "muted" }, "no answer: " + o.unavailable) : [h("span", { class: "muted" }, `  ${o.action}, confidence ${Math.round(100 * o.confidence)} %`), h("p", { class: "prose" }, o.diagnosis), h("p", { class: "prose" }, o.approach), o.falsifier && h("p", { class: "muted" }, "Wrong if: " + o.falsifier)]))) : null);
}

function diff(text) {
  return h("pre", { class: "diff", tabindex: 0 }, text.replace(/\n$/, "").split("\n").map((l) => h("span", { class: l.startsWith("+++") || l.startsWith("---") ? "f" : l.startsWith("+") ? "a" : l.startsWith("-") ? "d" : l.startsWith("@@") ? "h" : "" }, l || " ")));
}
