// Latency distributions of a scenario, policy by policy.

import type { Chart } from "../charts/chart";
import { curves, slowerThan, type Curve } from "../charts/curves";
import { milliseconds, percent } from "../charts/format";
import { openChunk, type Latencies } from "./data";
import { h, section, select } from "../base/dom";
import { highlight, legend } from "./legend";
import type { Look } from "./policies";
import { scenarioName, scenarioSelect } from "./scenarios";
import type { Store } from "./state";

export function latency(store: Store, looks: Look[]): HTMLElement {
  const tools = h("div", { class: "tools" });
  const box = h("div", { class: "chart" });
  const side = h("div", { class: "side" });
  let chart: Chart | undefined;
  let drawing = 0;
  const draw = async () => {
    const turn = ++drawing;
    const { scenario, kind } = store.state;
    const kinds = store.summary.scenarios[scenario]?.kinds ?? [];
    tools.replaceChildren(scenarioSelect(store), select("Requests", kinds.map((k) => ({ value: k.name, text: k.name })), kind, (value) => store.set({ kind: value })));
    const all = scenario < 0 ? {} : await openChunk<Latencies>("scenario", scenario);
    if (turn !== drawing) return; // the reader has gone on
    chart?.destroy();
    chart = undefined;
    side.replaceChildren();
    const slo = kinds.find((k) => k.name === kind);
    const rows = store.rowsOf(scenario).filter((i) => (all[kind]?.[i]?.ms.length ?? 0) > 1);
    box.classList.toggle("empty", rows.length === 0);
    if (!slo || rows.length === 0) return;
    const shown = rows.map((i): Curve => {
      const row = store.summary.rows[i]!;
      const look = looks[row.policy]!;
      return { name: store.summary.policies[row.policy]!.label, ...all[kind]![i]!, ink: look.ink, dash: look.dash };
    });
    const list = legend(shown.map((c, i) => ({ name: c.name, look: looks[store.summary.rows[rows[i]!]!.policy]! })), (i) => highlight(chart, i));
    const where = h("p", { class: "where", role: "status" });
    side.append(where, list.element);
    const show = (ms: number | null, slower: (number | null)[]) => {
      where.textContent = ms === null ? `Longer than the SLO of ${milliseconds(slo.slo_ms)}:` : `Longer than ${milliseconds(ms)}:`;
      list.show((ms === null ? shown.map((c) => slowerThan(c, slo.slo_ms)) : slower).map((v) => (v === null ? "none" : percent(v))));
    };
    chart = curves({
      box,
      height: 400,
      about: `Share of ${kind} requests that take longer than a given latency, ${scenarioName(store, scenario)}: ${shown.map((c) => `${c.name} ${percent(slowerThan(c, slo.slo_ms) ?? 0)} over the SLO`).join("; ")}`,
      curves: shown,
      slo: { name: `SLO ${milliseconds(slo.slo_ms)}`, value: slo.slo_ms },
      allowed: { name: `p${slo.percentile}`, value: 1 - slo.percentile / 100 },
      onCursor: show,
    });
    show(null, []);
  };
  store.listen((changed) => {
    if (["scenario", "kind", "app", "workload", "perturbation"].some((key) => changed.has(key as never))) void draw();
  });
  queueMicrotask(draw);
  return section("latency", "Latency", "Share of completed requests that take longer than a given latency, over all seeds. A curve below the intersection of the two dashed lines meets the SLO. Failures are in the table.", tools, h("div", { class: "with-side" }, box, side));
}
