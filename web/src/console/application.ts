// One application: what needs attention, its services with their calls, the last hours, its decisions.

import { percent } from "../charts/format";
import { h, select } from "../base/dom";
import { ask, pathOf, Refused } from "./api";
import { charts } from "./charts";
import { budget, keyOf, type Change, type Detail } from "./data";
import { showDecision } from "./decision";
import { changeList } from "./changes";
import { graph } from "./graph";
import { load, type Past } from "./past";
import type { Store } from "./store";
import type { View } from "./view";
import { against, bar, budgetText, difference, modeBadge, money, percentile, rungBadge, seconds, when } from "./words";

/** Between two looks at an application that changes, in ms. */
const BEAT = 2000;
const SPANS = [
  { value: "1800", text: "30 minutes" },
  { value: "3600", text: "1 hour" },
  { value: "7200", text: "2 hours" },
  { value: "21600", text: "6 hours" },
];

export function application(store: Store, of: { namespace: string; name: string }): View {
  const life = new AbortController();
  const key = keyOf(of);
  let span = 7200;
  let service = "";
  let past: Past | null = null;
  let detail: Detail | null = null;
  let changes: Change[] = [];

  const fault = h("p", { class: "fault", role: "alert" });
  const head = h("div", { class: "facts-row" });
  const objectives = h("div", { class: "objectives" });
  const notes = h("ul", { class: "notes" });
  const calls = graph((name) => choose(name));
  const open = (c: Change) => void showDecision(of, c, life.signal);
  const over = charts(open);
  const list = changeList(open);
  const picker = h("select", { id: "service" });
  picker.addEventListener("change", () => choose(picker.value));
  const whole = h("button", { type: "button", class: "quiet" }, "Whole stretch");
  whole.addEventListener("click", () => over.reset());
  const body = h(
    "div",
    { hidden: true },
    head,
    notes,
    objectives,
    h("section", { "aria-labelledby": "services-title" }, h("h2", { id: "services-title" }, "Services"), calls.element),
    h(
      "section",
      { "aria-labelledby": "time-title" },
      h(
        "div",
        { class: "tools" },
        h("h2", { id: "time-title" }, "Over time"),
        select("The last", SPANS, String(span), (value) => {
          span = Number(value);
          past = null;
          void refresh();
        }),
        h("label", { class: "field" }, h("span", {}, "Service"), picker),
        whole,
        h("span", { class: "soft small hint" }, "Drag to zoom. Arrow keys move along a chart that has the focus."),
      ),
      over.element,
    ),
    h("section", { "aria-labelledby": "decisions-title" }, h("h2", { id: "decisions-title" }, "Decisions"), list.element),
  );
  const element = h("div", { class: "application" }, fault, body);

  function choose(name: string): void {
    if (name === service) return;
    service = name;
    past = null;
    calls.choose(name);
    picker.value = name;
    void refresh();
  }

  let round = 0;
  async function refresh(): Promise<void> {
    const mine = ++round;
    try {
      const now = await ask<Detail>(pathOf(of), {}, life.signal);
      if (!service) service = busiest(now);
      const [series, made] = await Promise.all([
        load({ ...of, decided: now.decided }, service, span, past, life.signal),
        ask<{ changes: Change[] }>(`${pathOf(of)}/changes`, { since: `${span}s`, limit: "500" }, life.signal),
      ]);
      if (mine !== round) return; // another stretch or service was chosen meanwhile
      [detail, past, changes] = [now, series, made.changes];
      fault.textContent = "";
      draw();
    } catch (problem) {
      if (life.signal.aborted || mine !== round) return;
      fault.textContent = problem instanceof Refused ? problem.message : `The page has a fault: ${String(problem)}`;
    }
  }

  function draw(): void {
    if (!detail || !past) return;
    body.hidden = false;
    showHead(head, detail);
    showNotes(notes, detail, past);
    showObjectives(objectives, detail);
    calls.show(detail);
    calls.choose(service);
    const names = detail.services.map((s) => s.name);
    if (picker.options.length !== names.length || names.some((n, i) => picker.options[i]!.value !== n)) picker.replaceChildren(...names.map((n) => h("option", { value: n }, n)));
    picker.value = service;
    over.show(past, detail, service, changes);
    list.show(changes, service);
  }

  // At most one look in a beat, and none while the page is not seen.
  let waiting = 0;
  let stale = false;
  const touch = () => {
    stale = true;
    if (waiting !== 0 || document.hidden) return;
    waiting = window.setTimeout(() => {
      waiting = 0;
      stale = false;
      void refresh();
    }, BEAT);
  };
  const seen = () => !document.hidden && stale && touch();
  document.addEventListener("visibilitychange", seen);
  const forget = store.listen((changed) => {
    if (changed === key) touch();
  });
  void refresh();
  return {
    title: `${of.name} in ${of.namespace}`,
    element,
    close() {
      life.abort();
      clearTimeout(waiting);
      document.removeEventListener("visibilitychange", seen);
      forget();
      over.close();
    },
  };
}

/** The service with the highest utilisation is shown first. */
function busiest(d: Detail): string {
  return d.services.reduce<Detail["services"][number] | undefined>((best, s) => ((s.utilisation ?? -1) > (best?.utilisation ?? -2) ? s : best), undefined)?.name ?? "";
}

function showHead(head: HTMLElement, d: Detail): void {
  const fact = (name: string, ...value: (Node | string)[]) => h("div", {}, h("dt", {}, name), h("dd", {}, ...value));
  const base = d.money?.baseline;
  const b = budget(d.objectives);
  head.replaceChildren(
    h(
      "dl",
      { class: "tiles" },
      fact("mode", modeBadge(d.mode)),
      fact("in control", rungBadge(d.rung)),
      fact("error budget left", h("span", { class: (b?.budget_left ?? 1) < 0 ? "hue-mark" : "" }, budgetText(b?.budget_left))),
      fact("cost an hour", money(d.money?.per_hour, d.money?.currency ?? "")),
      base && d.money?.per_month !== undefined
        ? fact(`a month, by the twin`, `${money(d.money.per_month, d.money.currency)} `, h("span", { class: "small" }, difference(base), h("span", { class: "soft" }, ` against ${base.name}`)))
        : fact("a month", h("span", { class: "soft" }, "no estimate")),
      fact("services scaled", d.services_moved ?? "–"),
      fact("decided", when(d.decided)),
    ),
    h("p", { class: "soft small policy" }, `Policy: ${d.policy ?? "none yet"}.${d.rung?.why && d.rung.name !== "Primary" ? ` ${d.rung.name}: ${d.rung.why}.` : ""}`),
  );
}

function showNotes(notes: HTMLElement, d: Detail, past: Past): void {
  const texts = d.attention.map((text) => h("li", { class: "attention" }, text));
  if (past.t.length === 0) texts.push(h("li", { class: "soft" }, d.record));
  else if (!past.complete) texts.push(h("li", { class: "soft" }, "What was recorded before the controller started is still being read."));
  notes.replaceChildren(...texts);
}

function showObjectives(list: HTMLElement, d: Detail): void {
  list.replaceChildren(
    ...d.objectives.map((o) => {
      const share = o.over_slo;
      return h(
        "div",
        { class: "objective" },
        h("span", { class: "kind" }, h("strong", {}, o.kind), h("span", { class: "soft small" }, ` ${percentile(o)} within ${seconds(o.target_s)}`)),
        bar(share, share === undefined ? "plain" : share > 1 ? "bad" : "good", true),
        h("span", { class: share !== undefined && share > 1 ? "hue-mark strong" : "" }, o.latency_s === undefined ? "not measured" : against(o)),
        h("span", { class: "soft small" }, o.attainment === undefined ? "" : `${percent(o.attainment)} within since `, o.attainment === undefined ? null : when(o.since, false), o.budget_left === undefined ? "" : `, budget ${o.budget_left < 0 ? "" : "left "}${budgetText(o.budget_left)}`),
      );
    }),
  );
}
