// The answer that the runs were made for, before everything else: the sentence, the facts, the
// reasons, and cost against violations over all scenarios.

import { figure, percent } from "../charts/format";
import { scatter, type Point, type Scatter, type Spread } from "../charts/scatter";
import type { Lead, Summary, Triple } from "./data";
import { h, section } from "../base/dom";
import { legend } from "./legend";
import type { Look } from "./policies";
import { whole } from "./whole";

export function lead(summary: Summary, answer: Lead, looks: Look[]): HTMLElement {
  const list = (title: string, lines: string[] | null) => (lines && lines.length > 0 ? h("div", {}, h("h3", {}, title), h("ul", {}, ...lines.map((line) => h("li", {}, line)))) : null);
  return section(
    "verdicts",
    "Verdict",
    "",
    h("p", { class: `answer ${answer.kind}` }, answer.sentence),
    h("dl", { class: "facts" }, ...answer.facts.map((f) => h("div", {}, h("dt", {}, f.name), h("dd", {}, f.value)))),
    whole(summary, answer, looks),
    list("Why", answer.reasons),
    list("Assumed", answer.assumptions),
    conditions(answer),
    picture(summary, answer, looks),
  );
}

/** What the answer depends on: policies under other conditions. */
function conditions(answer: Lead): HTMLElement | null {
  const { columns, rows } = answer.conditions ?? {};
  if (!columns || !rows || rows.length === 0) return null;
  return h(
    "div",
    {},
    h("h3", {}, "Under other conditions"),
    h("p", {}, "Requests over the SLO in the busiest and the steepest stretch (! = violated), and cost against today's deployment in the same condition."),
    h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Policies under other conditions" }, h("table", {}, h("thead", {}, h("tr", {}, ...columns.map((c) => h("th", {}, c)))), h("tbody", {}, ...rows.map((row) => h("tr", {}, ...row.map((cell) => h("td", {}, cell))))))),
  );
}

function picture(summary: Summary, answer: Lead, looks: Look[]): HTMLElement | null {
  const shown = (answer.points ?? []).filter((p) => p.cost[0] != null && p.over_slo_ratio[0] != null && summary.policies.some((o) => o.label === p.label));
  if (shown.length === 0) return null;
  const lookOf = (label: string) => looks[summary.policies.findIndex((p) => p.label === label)]!;
  const points = shown.map((p): Point => {
    const look = lookOf(p.label);
    return { name: p.label, x: spread(p.cost), y: spread(p.over_slo_ratio), ink: look.ink, shape: look.shape, filled: look.filled, front: p.front };
  });
  const box = h("div", { class: "chart" });
  let chart: Scatter | undefined;
  const side = legend(shown.map((p) => ({ name: p.label, look: lookOf(p.label), note: p.note })), (i) => chart?.highlight(i));
  side.show(points.map((p) => `${figure(p.x[0])} ${answer.unit}, ${percent(p.y[0])}`));
  queueMicrotask(() => {
    // The box has no width before it is on the page.
    chart = scatter({
      box,
      height: 360,
      about: `Cost against share of requests over the SLO, over all scenarios: ${points.map((p) => `${p.name} ${figure(p.x[0])} ${answer.unit} and ${percent(p.y[0])}`).join("; ")}`,
      points,
      limit: summary.counts_if,
      xLabel: answer.unit,
      yLabel: "requests over the SLO",
      onPoint: (i) => side.highlight(i),
    });
  });
  return h("div", { class: "with-side" }, box, h("div", { class: "side" }, side.element));
}

/** A mean without an interval is a point. */
function spread([mean, low, high]: Triple): Spread {
  return [mean!, low ?? NaN, high ?? NaN];
}
