// Both sides over time, in one chart for each quantity.

import uPlot from "uplot";
import { figure, milliseconds } from "../charts/format";
import { timeline, type Line, type Panel } from "../charts/timeline";
import type { Chart } from "../charts/chart";
import { h } from "../base/dom";
import type { About, Sample, State } from "./protocol";

/** Points that are kept: an hour, five seconds apart. */
const MOST_POINTS = 720;

export interface Figures {
  readonly element: HTMLElement;
  add(state: State): void;
}

interface Quantity {
  panel: Panel;
  of: (s: Sample) => number | null;
}

/** p99, if all kinds have that percentile. */
function titleOf(about: About): string {
  const all = new Set(about.kinds.map((k) => k.percentile));
  return all.size === 1 ? `p${about.kinds[0]!.percentile}` : "Latency at the SLO’s percentile";
}

export function figures(about: About, titles: [string, string], hues: [number, number]): Figures {
  const t: number[] = [];
  const lines = (more: Partial<Line> = {}): Line[] => titles.map((name, i) => ({ name, values: [], hue: hues[i]!, ...more }));
  const slo = about.kinds[0];
  const common = slo !== undefined && about.kinds.every((k) => k.seconds === slo.seconds && k.percentile === slo.percentile);
  const count = (v: number | null | undefined) => figure(v);
  const quantities: Quantity[] = [
    { of: (s) => s.load, panel: { title: "Load", unit: "requests/s", format: count, live: true, lines: [{ name: "on both sides", values: [], hue: 7, area: true }] } },
    {
      // Of the kind of request that is worst.
      of: (s) => (s.p === null ? null : common ? 1000 * s.p * slo.seconds : 100 * s.p),
      panel: {
        title: titleOf(about),
        unit: common ? "" : "% of SLO",
        format: common ? milliseconds : (v) => (v == null ? "–" : `${figure(v, 2)} %`),
        log: true,
        live: true,
        lines: lines(),
        levels: [{ name: common ? `SLO ${milliseconds(1000 * slo.seconds)}` : "SLO", value: common ? 1000 * slo.seconds : 100 }],
      },
    },
    { of: (s) => s.ready, panel: { title: "Replicas", unit: "ready pods", format: count, live: true, lines: lines({ step: true }) } },
    { of: (s) => s.money, panel: { title: "Money", unit: `${about.currency} an hour`, format: (v) => (v == null ? "–" : v.toFixed(3)), live: true, lines: lines() } },
  ];
  const charts: Chart[] = [];
  const element = h("section", { class: "figures-over-time", "aria-label": "Both sides over time" });
  const make = () => {
    for (const q of quantities) {
      const box = element.appendChild(h("div", { class: "panel" }));
      charts.push(timeline({ box, t, panel: q.panel, key: "sandbox", about: `${q.panel.title} over time, ${titles.join(" and ")}` }));
    }
  };
  return {
    element,
    add(state) {
      const [left, right] = state.sides;
      const fresh = left.samples ?? [];
      if (charts.length > 0 && fresh.length === 0) return;
      fresh.forEach((sample, i) => {
        const other = right.samples?.[i];
        t.push(sample.t);
        for (const q of quantities) {
          q.panel.lines.forEach((line, side) => {
            const of = side === 0 ? sample : other;
            line.values.push(of ? q.of(of) : null);
          });
        }
      });
      const extra = t.length - MOST_POINTS;
      if (extra > 0) {
        t.splice(0, extra);
        for (const q of quantities) q.panel.lines.forEach((line) => line.values.splice(0, extra));
      }
      if (charts.length === 0) make();
      else quantities.forEach((q, i) => charts[i]!.plot.setData([t, ...q.panel.lines.map((line) => line.values)] as uPlot.AlignedData));
    },
  };
}
