// Cost against violations in one scenario.

import { figure, percent } from "../charts/format";
import { scatter, type Point, type Scatter, type Spread } from "../charts/scatter";
import { costUnit, type Row, type Triple } from "./data";
import { h, section } from "../base/dom";
import { legend } from "./legend";
import type { Look } from "./policies";
import { scenarioName, scenarioSelect } from "./scenarios";
import type { Store } from "./state";

export function tradeoff(store: Store, looks: Look[]): HTMLElement {
  const tools = h("div", { class: "tools" });
  const box = h("div", { class: "chart" });
  const side = h("div", { class: "side" });
  let chart: Scatter | undefined;
  const draw = () => {
    chart?.destroy();
    chart = undefined;
    tools.replaceChildren(scenarioSelect(store));
    side.replaceChildren();
    const rows = store.rowsOf(store.state.scenario).map((i) => store.summary.rows[i]!);
    const shown = rows.filter((r) => r.values[store.summary.cost]?.[0] != null && r.values["over_slo_ratio"]?.[0] != null);
    if (shown.length === 0) return;
    const points = shown.map((row): Point => {
      const look = looks[row.policy]!;
      return { name: store.summary.policies[row.policy]!.label, x: spread(row.values[store.summary.cost]!), y: spread(row.values["over_slo_ratio"]!), ink: look.ink, shape: look.shape, filled: look.filled, front: row.front };
    });
    const list = legend(
      points.map((p, i) => ({ name: p.name, look: looks[shown[i]!.policy]!, note: standing(store, shown[i]!) })),
      (i) => chart?.highlight(i),
    );
    list.show(points.map((p) => `${figure(p.x[0])} ${costUnit(store.summary)}, ${percent(p.y[0])}`));
    side.append(list.element);
    chart = scatter({
      box,
      height: points.length > 8 ? 500 : 400, // names need room
      about: `Cost against share of requests over the SLO, ${scenarioName(store, store.state.scenario)}: ${points.map((p) => `${p.name} ${figure(p.x[0])} ${costUnit(store.summary)} and ${percent(p.y[0])}`).join("; ")}`,
      points,
      limit: store.summary.counts_if,
      bound: boundOf(store, shown),
      xLabel: store.summary.cost === "bill" ? "bill" : "cost, core-hours",
      yLabel: "requests over the SLO",
      onPoint: (i) => list.highlight(i),
    });
  };
  store.listen((changed) => {
    if (["scenario", "app", "workload", "perturbation"].some((key) => changed.has(key as never))) draw();
  });
  queueMicrotask(draw); // the box has no width before it is on the page
  return section("tradeoff", "Cost and SLO", "Down and left is better. The line is the Pareto front: no other contender is both cheaper and safer. Bars are 95 % intervals.", tools, h("div", { class: "with-side" }, box, side));
}

/** What a marker alone does not tell: the SLO must hold in every run. */
function standing(store: Store, row: Row): string {
  const runs = row.runs ?? [];
  const broken = runs.filter((r) => !((r.over_slo_ratio ?? 1) <= store.summary.counts_if)).length;
  if (!row.met) return broken < runs.length ? `✗ violated in ${broken} of ${runs.length} runs` : "✗ violated in every run";
  return row.front ? "on the front" : "";
}

/** The lowest bound on the cost; none where a policy that meets the SLO is below it, since then it is of other axes. */
function boundOf(store: Store, rows: Row[]): number | undefined {
  const bounds = rows.flatMap((r) => (store.summary.policies[r.policy]!.reference || !r.bound ? [] : [r.bound[0]!]));
  const bound = Math.min(...bounds);
  const below = rows.some((r) => r.met && r.values[store.summary.cost]![0]! < bound);
  return bounds.length > 0 && !below ? bound : undefined;
}

/** A mean without an interval is a point. */
function spread([mean, low, high]: Triple): Spread {
  return [mean!, low ?? NaN, high ?? NaN];
}
