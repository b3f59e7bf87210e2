// Money and tokens: what is left of the budget over time, and where it went.
function drawMoney() {
  const root = $("money"), paid = run.notional ? "Notional: on a subscription nobody is billed these dollars. " : "";
  root.replaceChildren(heading("money", "Money", paid + beside()),
    h("div", { class: "two" }, burn(), h("div", {}, spenders(), tokenShare())));
}

// What was spent beside the attempts.
function beside() {
  const of = (kind) => run.spans.reduce((n, p) => n + (p.k === kind ? p.c || 0 : 0), 0);
  const parts = [["counsel", run.counsel_cost || 0], ["reviews", of("review")], ["criteria", of("criteria")]].filter(([, c]) => c).map(([w, c]) => `${w} ${money(c)}`);
  return parts.length ? `Of ${money(run.cost)}: ${parts.join(", ")}.` : "";
}

function burn() {
  const room = $("money").clientWidth - (innerWidth > 720 ? 50 : 34), width = Math.max(280, Math.min(innerWidth > 980 ? room * 0.53 : room, 900)), height = 232, left = 52, right = width - 14, top = 14, bottom = height - 40;
  const limit = run.budget, most = Math.max(limit || 0, run.cost, 1);
  const sc = scale(left, right), down = limit !== null;
  const y = (spent) => down ? top + (Math.min(spent, most) / most) * (bottom - top) : bottom - (spent / most) * (bottom - top);
  const title = down ? "Budget left" : "Spent, without a budget";
  const said = down ? `${money(Math.max(limit - run.cost, 0))} of ${limitOf(limit)} left, ${Math.round((100 * run.cost) / (limit || 1))} % spent` : `${money(run.cost)} so far`;
  if (run.burn.length < 2) return h("figure", {}, h("figcaption", {}, h("h3", {}, title), h("span", { class: "muted" }, said)));
  let d = "", x = left, last = 0;
  run.burn.forEach(([t, spent], k) => {
    x = sc.at(t);
    d += k ? `H${x.toFixed(1)}V${y(spent).toFixed(1)}` : `M${x.toFixed(1)} ${y(spent).toFixed(1)}`;
    last = spent;
  });
  const board = s("svg", { width, height, role: "img", "aria-label": `${title}: ${said}. The table below has the steps.` });
  board.append(...axis(sc, top, bottom, 92));
  for (const share of [0, 0.5, 1]) {
    const at = down ? top + (1 - share) * (bottom - top) : bottom - share * (bottom - top);
    board.append(s("text", { class: "axistext", x: left - 8, y: at + 4, "text-anchor": "end" }, limitOf(most * share)), s("line", { class: "axis", x1: left, x2: right, y1: at, y2: at }));
  }
  if (down) {
    for (const share of [0.75, 0.9]) {
      const at = y(limit * share);
      board.append(s("line", { class: "mark", x1: left, x2: right, y1: at, y2: at }), s("text", { class: "marktext", x: right - 2, y: at - 3, "text-anchor": "end" }, Math.round(share * 100) + " % spent"));
    }
  }
  for (const [t, limit] of (run.budgets || []).slice(1)) { // the budget was changed for a session
    const at = sc.at(t), late = at > (left + right) / 2;
    board.append(s("line", { class: "mark", x1: at, x2: at, y1: top, y2: bottom }),
      s("text", { class: "marktext", x: at + (late ? -4 : 4), y: top + 11, "text-anchor": late ? "end" : "start" }, "budget " + (limit < 0 ? "none" : limitOf(limit)) + " from here"));
  }
  board.append(s("path", { class: "burnfill", d: d + `V${bottom}H${sc.at(run.burn[0][0]).toFixed(1)}Z` }), s("path", { class: "burnline", d }), s("circle", { cx: x, cy: y(last), r: 3.6, fill: "currentColor" }));
  const alt = h("details", { class: "alt" }, h("summary", {}, "As a table"));
  alt.addEventListener("toggle", () => {
    if (!alt.open || alt.querySelector("table")) return;
    alt.append(h("div", { class: "scroll", tabindex: 0 }, h("table", {}, h("thead", {}, h("tr", {}, [`Time (${zone(run.now)})`, "Spent", down && "Left"].filter(Boolean).map((w) => h("th", { scope: "col" }, w)))),
      h("tbody", {}, run.burn.map(([t, spent]) => h("tr", {}, h("td", {}, clock(t)), h("td", {}, money(spent)), down && h("td", {}, money(Math.max(limit - spent, 0)))))))));
  });
  return h("figure", {}, h("figcaption", {}, h("h3", {}, title), h("span", { class: "muted" }, said)), board, alt);
}

function spenders() {
  const list = run.tasks.map((t, i) => [t, i]).filter(([t]) => t.cost).sort((a, b) => b[0].cost - a[0].cost);
  if (!list.length) return h("p", { class: "muted" }, "Nothing was spent on tasks yet.");
  const shown = list.slice(0, 8), most = shown[0][0].cost, rest = list.slice(8).reduce((n, [t]) => n + t.cost, 0);
  return h("figure", {}, h("figcaption", {}, h("h3", {}, "Where it went"), h("span", { class: "muted" }, "the dearest tasks, counsel in violet")),
    h("div", { class: "bars" }, shown.map(([t, i]) => [
      h("button", { type: "button", title: t.subject, on: { click: () => open(i) } }, t.id),
      h("span", { class: "track", "aria-hidden": "true" }, h("i", { css: { width: (100 * (t.cost - (t.counsel || 0))) / most + "%" } }), t.counsel && h("i", { class: "counsel", css: { width: (100 * t.counsel) / most + "%" } })),
      h("span", { class: "num" }, money(t.cost), h("span", { class: "muted" }, "  " + count(total(t.tokens)) + " tok")),
    ])), rest ? h("p", { class: "muted rest" }, `and ${money(rest)} on ${plural(list.length - 8, "other task")}`) : null);
}

function tokenShare() {
  const all = total(run.tokens), names = ["input", "output", "cache_read", "cache_write"], tokens = names.map((k) => run.tokens[k] || 0);
  if (!all) return null;
  return h("figure", { css: { "margin-top": "1.4rem" } }, h("figcaption", {}, h("h3", {}, "Tokens"), h("span", { class: "muted" }, count(all) + " in attempts")),
    h("div", { class: "tok", "aria-hidden": "true" }, tokens.map((n, k) => n ? h("i", { class: "t" + k, css: { "flex-grow": n } }) : null)),
    h("div", { class: "key", css: { "margin-top": 0 } }, tokens.map((n, k) => n ? h("span", {}, h("i", { class: "t" + k }), names[k].replace("_", " ") + " " + count(n)) : null)));
}
