// Runs over time, two of them side by side: same axes, one cursor.

import { moveCursor, type Chart } from "../charts/chart";
import { figure, percent } from "../charts/format";
import { moment, timeline, type Panel } from "../charts/timeline";
import { costUnit, openChunk, times, type Run, type Row, type Story } from "./data";
import { decisionList } from "./decisions";
import { h, section, select } from "../base/dom";
import { panelsOf } from "./panels";
import { badge, type Look } from "./policies";
import { scenarioSelect } from "./scenarios";
import type { Store } from "./state";

type Side = "left" | "right";
const KEY = "story";

export function stories(store: Store, looks: Look[]): HTMLElement {
  const tools = h("div", { class: "tools" });
  const columns = h("div", { class: "columns" });
  let charts: Chart[] = [];
  let drawing = 0;
  const whole = () => charts.forEach((c) => c.plot.setData(c.plot.data, true));
  const draw = async () => {
    const turn = ++drawing;
    tools.replaceChildren(scenarioSelect(store), h("button", { type: "button", class: "quiet", onclick: whole }, "Whole run"), h("span", { class: "soft hint" }, "Drag across a chart to zoom; arrow keys move the cursor."));
    const sides = (["left", "right"] as const).map((side) => ({ side, found: findRun(store, store.state[side]) }));
    const shown = await Promise.all(sides.map(({ found }) => (found ? openChunk<Story>("run", found.run.chunk) : null)));
    if (turn !== drawing) return; // the reader has gone on
    charts.forEach((c) => c.destroy());
    charts = [];
    const kinds = store.summary.scenarios[store.state.scenario]?.kinds ?? [];
    const panels = panelsOf(shown.filter((story) => story !== null), kinds);
    const parts = sides.map(({ side, found }, i) => column(store, looks, side, found, shown[i]!));
    columns.replaceChildren(...parts.map((p) => p.element));
    parts.forEach((part, i) => charts.push(...fillColumn(part, shown[i]!, shown[i] ? panels.shift()! : [])));
  };
  store.listen((changed) => {
    if (["scenario", "left", "right", "app", "workload", "perturbation"].some((key) => changed.has(key as never))) void draw();
  });
  queueMicrotask(draw);
  return section("stories", "Runs over time", "A run over time, with its decisions and their reasons. Select two to compare them on common axes with a common cursor.", tools, columns);
}

interface Found {
  row: Row;
  run: Run;
}

function findRun(store: Store, id: number): Found | null {
  for (const row of store.summary.rows) {
    const run = row.runs?.find((r) => r.id === id);
    if (run) return { row, run };
  }
  return null;
}

interface Column {
  element: HTMLElement;
  body: HTMLElement;
  name: string;
}

function column(store: Store, looks: Look[], side: Side, found: Found | null, story: Story | null): Column {
  const name = found ? `${store.summary.policies[found.row.policy]!.label}, seed ${found.run.seed}` : "";
  const body = h("div", { class: "panels" });
  const head = h(
    "div",
    { class: "story-head" },
    found && badge(looks[found.row.policy]!),
    runSelect(store, side, found),
    found && seedSelect(store, side, found),
  );
  const outcome = h(
    "p",
    { class: "outcome" },
    found && h("span", {}, `${figure(found.run.cost)} ${costUnit(store.summary)}, ${percent(found.run.over_slo_ratio)} over the SLO`, (found.run.over_slo_ratio ?? 1) > store.summary.counts_if && h("span", { class: "broken" }, " ✗ violated")),
    found && h("span", { class: "settings", title: found.row.settings }, found.row.settings),
  );
  if (!story) body.append(h("p", { class: "soft" }, "Nothing chosen."));
  return { element: h("article", { class: "story", "aria-label": name || "no run" }, head, outcome, body), body, name };
}

function runSelect(store: Store, side: Side, found: Found | null): HTMLElement {
  const rows = store.rowsOf(store.state.scenario).map((i) => store.summary.rows[i]!);
  const choices = rows.flatMap((row) => {
    const run = row.runs?.find((r) => r.seed === found?.run.seed) ?? row.runs?.[0];
    return run ? [{ value: String(run.id), text: store.summary.policies[row.policy]!.label }] : [];
  });
  if (side === "right") choices.push({ value: "-1", text: "none" });
  return select(side === "left" ? "Run" : "Beside", choices, String(found?.run.id ?? -1), (value) => store.set({ [side]: Number(value) }));
}

function seedSelect(store: Store, side: Side, found: Found): HTMLElement {
  const choices = (found.row.runs ?? []).map((r) => ({ value: String(r.id), text: r.seed }));
  return select("Seed", choices, String(found.run.id), (value) => store.set({ [side]: Number(value) }));
}

function fillColumn(part: Column, story: Story | null, panels: Panel[]): Chart[] {
  if (!story) return [];
  const t = times(story);
  const at = h("p", { class: "moment", role: "status" }, "\u00a0");
  part.body.append(at);
  let charts: Chart[] = [];
  const list = decisionList(story, (instant) => charts[0] && moveCursor(charts[0].plot, instant));
  const onCursor = (i: number | null) => {
    at.textContent = i === null ? "\u00a0" : `at ${moment(t[i]!)}`;
    list.near(i === null ? null : t[i]!);
  };
  charts = panels.map((panel, i) => {
    const box = h("div", { class: "panel" });
    part.body.append(box);
    return timeline({ box, t, panel, key: KEY, about: `${panel.title} over time, ${part.name}`, onCursor: i === 0 ? onCursor : undefined });
  });
  part.body.append(list.element);
  return charts;
}
