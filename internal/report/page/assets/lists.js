// Lists (foreach): all tasks of one have a row and a node together. The user unfolds the row.
const unfolded = new Set();

// The lists by their ids, with the indices of their tasks.
function lists() {
  if (!run.byList) {
    run.byList = new Map((run.lists || []).map((l) => [l.id, Object.assign(l, { tasks: [] })]));
    run.tasks.forEach((t, i) => { if (t.group) run.byList.get(t.group).tasks.push(i); });
  }
  return run.byList;
}
const listOf = (i) => lists().get(run.tasks[i].group);

function listStatus(l) {
  if (l.failed) return "failed";
  if (l.running) return "in_progress";
  if (l.blocked) return "blocked";
  return l.known && l.completed === l.items ? "completed" : "pending";
}

// How many items are in which state: "3/20, 1 running, 16 waiting".
function listText(l) {
  if (!l.known) return "not known yet, at most " + plural(l.most, "item");
  return [`${l.completed}/${l.items}`].concat(["verified", "running", "failed", "blocked", "waiting"].filter((k) => l[k]).map((k) => l[k] + " " + k)).join(", ");
}

// The rows of the table for some tasks, in their order: indices of tasks, and lists. The tasks of a list follow it if it
// is unfolded; those that failed always do. While the user searches or filters, each task that fits has its row.
function rowsOf(tasks) {
  if (view.text || view.status.size) return tasks;
  const rows = [], members = new Map();
  for (const i of tasks) {
    const l = listOf(i);
    if (l && members.has(l)) members.get(l).push(i);
    else if (l) { members.set(l, [i]); rows.push(l); } else rows.push(i);
  }
  if (!view.wave) for (const l of lists().values()) if (!l.tasks.length) rows.push(l);
  return rows.flatMap((r) => typeof r === "number" ? [r] : [r, ...(members.get(r) || []).filter((i) => unfolded.has(r.id) || run.tasks[i].status === "failed")]);
}

function listRow(l) {
  const sum = (f) => l.tasks.reduce((n, i) => n + (f(run.tasks[i]) || 0), 0), on = unfolded.has(l.id);
  const waves = [...new Set(l.tasks.map((i) => run.tasks[i].wave))];
  const row = h("tr", { class: "list", "data-list": l.id },
    h("td", {}, badge(listStatus(l))),
    h("td", {}, h("button", { type: "button", class: "open", "aria-expanded": String(on), disabled: !l.tasks.length }, sign(on ? "▾ " : "▸ "), l.id)),
    h("td", { class: "subject" }, listText(l), h("span", { class: "why" }, l.from)),
    h("td", { class: "num opt" }, waves.length === 1 ? waves[0] : "–"), h("td", { class: "num" }, sum((t) => t.attempts) || "–"), h("td", { class: "num opt" }, sum((t) => t.panels) || "–"),
    h("td", { class: "num" }, money(l.cost)),
    h("td", { class: "num opt" }, count(sum((t) => total(t.tokens)))), h("td", { class: "num opt" }, sum((t) => t.took) ? took(sum((t) => t.took)) : "–"));
  if (l.tasks.length) row.addEventListener("click", (e) => { if (!getSelection().toString() || e.target.closest("button")) foldList(l, !on); });
  return row;
}

// Unfolds or folds the row of a list, and keeps the focus on it.
function foldList(l, on) {
  if (on) unfolded.add(l.id); else unfolded.delete(l.id);
  drawRows();
  const row = [...document.querySelectorAll("#rows tr.list")].find((r) => r.dataset.list === l.id);
  if (row) row.querySelector(".open").focus();
}

// Shows the row of a list, unfolded.
function showList(l) {
  if (view.text || view.status.size || view.wave) clear();
  foldList(l, l.tasks.length > 0);
  $("tasks").scrollIntoView();
}

// The buttons of tasks, with one for all tasks of a list that is not the own one.
function taskButtons(tasks, own) {
  const seen = new Set();
  return tasks.flatMap((k) => {
    const l = listOf(k);
    if (!l || l === listOf(own)) return [h("button", { type: "button", class: "linkish", title: run.tasks[k].subject, on: { click: () => open(k) } }, run.tasks[k].id)];
    if (seen.has(l)) return [];
    seen.add(l);
    return [h("button", { type: "button", class: "linkish", title: listText(l), on: { click: () => showList(l) } }, l.id)];
  });
}
