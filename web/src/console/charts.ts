// The panels over time: of the application, and of the service that is chosen.

import type uPlot from "uplot";
import { figure, milliseconds, percent } from "../charts/format";
import { timeline, type Line, type Mark, type Panel } from "../charts/timeline";
import type { Chart } from "../charts/chart";
import { h } from "../base/dom";
import type { Change, Column, Detail } from "./data";
import { withAhead, type Past } from "./past";
import { cores, money, seconds } from "./words";

/** All charts of the page move their cursors and zoom together. */
const KEY = "console";

export interface Charts {
  readonly element: HTMLElement;
  show(past: Past, detail: Detail, service: string, changes: Change[]): void;
  reset(): void;
  close(): void;
}

interface Made {
  panel: Panel;
  chart: Chart;
}

const ms = (column: Column): Column => column.map((v) => (v === null ? null : 1000 * v));
const count = (v: number | null | undefined) => (v == null ? "–" : figure(v));

/** Kinds beyond this many are drawn in one panel, but only the first are named. */
const MOST_KINDS = 12;

export function charts(onChange: (c: Change) => void): Charts {
  const whole = h("div", { class: "panels", role: "group", "aria-label": "The application over time" });
  const one = h("div", { class: "panels", role: "group", "aria-label": "The chosen service over time" });
  const title = h("h3", {}, "");
  const element = h("div", { class: "charts" }, h("h3", {}, "The application"), whole, title, one);
  let made: Made[] = [];
  let shape = "";
  let marked: Change[] = [];
  const close = () => {
    made.forEach((m) => m.chart.destroy());
    made = [];
  };
  return {
    element,
    close,
    reset() {
      for (const m of made) m.chart.plot.setScale("x", { min: m.chart.plot.data[0]![0]!, max: m.chart.plot.data[0]![m.chart.plot.data[0]!.length - 1]! });
    },
    show(measured, detail, service, changes) {
      marked = changes.filter((c) => c.service === service);
      const past = withAhead(measured, detail.services.find((s) => s.name === service)?.forecast);
      const marks = () => marked.flatMap((c): Mark[] => (levelOf(past, c) === null ? [] : [{ t: Date.parse(c.at) / 1000, value: levelOf(past, c)!, strong: (c.guards?.length ?? 0) > 0 || !c.applied }]));
      const visible = () => marked.filter((c) => levelOf(past, c) !== null);
      const all = [...ofApplication(past, detail), ...ofService(past, marks, (i) => onChange(visible()[i]!))];
      const now = JSON.stringify([service, all.map((p) => [p.title, p.unit, p.lines.map((l) => l.name), p.levels])]);
      if (now !== shape || made.length === 0) {
        shape = now;
        close();
        title.textContent = `Service ${service}`;
        const split = ofApplication(past, detail).length;
        whole.replaceChildren();
        one.replaceChildren();
        made = all.map((panel, i) => {
          const box = (i < split ? whole : one).appendChild(h("div", { class: "panel" }));
          return { panel, chart: timeline({ box, t: past.t, panel, key: KEY, instants: true, about: `${panel.title}${i < split ? "" : ` of ${service}`} over time, in ${panel.unit}: ${latest(panel)}` }) };
        });
        return;
      }
      made.forEach((m, i) => {
        const fresh = all[i]!;
        m.panel.lines.forEach((line, j) => (line.values = fresh.lines[j]!.values));
        m.panel.marks = fresh.marks;
        m.panel.onMark = fresh.onMark;
        const xs = m.chart.plot.data[0]!;
        const scale = m.chart.plot.scales["x"]!;
        // A stretch that the reader has chosen stays; the whole grows with the data.
        const zoomed = scale.min != null && (scale.min > xs[0]! + 1 || scale.max! < xs[xs.length - 1]! - 1);
        m.chart.plot.setData([past.t, ...fresh.lines.map((l) => l.values)] as uPlot.AlignedData, !zoomed);
        if (zoomed) m.chart.plot.redraw(true, true);
        m.chart.plot.root.setAttribute("aria-label", `${m.panel.title} over time, in ${m.panel.unit}: ${latest(fresh)}`);
      });
    },
  };
}

/** The last values in words, for those who do not see the lines. */
function latest(panel: Panel): string {
  return panel.lines
    .map((l) => {
      for (let i = l.values.length - 1; i >= 0; i--) if (l.values[i] !== null) return `${l.name} ${panel.format(l.values[i])}`;
      return `${l.name} not measured`;
    })
    .join(", ");
}

/** A change is marked on the line of the replicas that were applied. */
function levelOf(past: Past, c: Change): number | null {
  const i = Math.floor((Date.parse(c.at) / 1000 - past.t[0]!) / past.step);
  return past.service.applied[i] ?? past.service.applied[i - 1] ?? null;
}

function ofApplication(past: Past, detail: Detail): Panel[] {
  const kinds = [...past.kinds].slice(0, MOST_KINDS);
  const each = (of: (k: { rate: Column; latency: Column; over: Column }) => Column, more: Partial<Line> = {}): Line[] => kinds.map(([name, k], i) => ({ name, values: of(k), hue: i % 8, dash: i >= 8 ? [4, 3] : undefined, ...more }));
  const targets = new Set(detail.objectives.map((o) => o.target_s).filter((t): t is number => t !== undefined && t > 0));
  const percentiles = new Set(detail.objectives.map((o) => o.percentile ?? 99));
  const name = percentiles.size === 1 ? `p${[...percentiles][0]}` : "Latency at the SLO’s percentile";
  const target = (kind: string) => detail.objectives.find((o) => o.kind === kind)?.target_s;
  // With one target the axis is time; with several it is the share of each kind's own.
  const latency: Panel =
    targets.size === 1
      ? { title: name, unit: "", format: milliseconds, live: true, log: true, lines: each((k) => ms(k.latency)), levels: [{ name: `SLO ${seconds([...targets][0])}`, value: 1000 * [...targets][0]! }] }
      : {
          title: `${name} against the SLO`,
          unit: "% of each target",
          format: (v) => (v == null ? "–" : `${figure(v, 2)} %`),
          live: true,
          log: true,
          lines: kinds.map(([kind, k], i) => ({ name: kind, hue: i % 8, values: k.latency.map((v) => (v === null || !target(kind) ? null : (100 * v) / target(kind)!)) })),
          levels: [{ name: "SLO", value: 100 }],
        };
  const over: Column = past.t.map((_, i) => overAt(kinds.map(([, k]) => [k.rate[i] ?? null, k.over[i] ?? null])));
  const allowed = percentiles.size === 1 ? 1 - [...percentiles][0]! / 100 : null;
  return [
    { title: "Load", unit: "requests per second", format: count, live: true, lines: each((k) => k.rate) },
    latency,
    { title: "Over the SLO", unit: "share of all requests", format: percent, live: true, lines: [{ name: "over", values: over, hue: -1, area: true, step: true }], levels: allowed ? [{ name: `allowed ${percent(allowed)}`, value: allowed }] : [] },
    { title: "Nodes", unit: "up, with pods of the application", format: count, live: true, lines: [{ name: "nodes", values: past.nodes, hue: 7, step: true, area: true }] },
    { title: "Money", unit: `${past.currency} an hour, at list prices`, format: (v) => money(v, ""), live: true, lines: [{ name: "cost", values: past.money, hue: 2, area: true }] },
  ];
}

function overAt(kinds: [rate: number | null, over: number | null][]): number | null {
  let requests = 0;
  let over = 0;
  for (const [rate, share] of kinds) {
    if (rate === null || share === null) continue;
    requests += rate;
    over += rate * share;
  }
  return requests > 0 ? over / requests : null;
}

function ofService(past: Past, marks: () => Mark[], onMark: (i: number) => void): Panel[] {
  const s = past.service;
  const forecast = [...s.median, ...s.high].some((v) => v !== null);
  const median = s.median.some((v) => v !== null);
  const load: Line[] = [{ name: "measured", values: s.rate, hue: 0 }];
  if (median) load.push({ name: "forecast, median", values: s.median, hue: 1, dash: [5, 4] });
  if (forecast) load.push({ name: median ? "upper quantile" : "planned for", values: s.high, hue: 1, dash: [2, 3] });
  return [
    { title: "Load and its forecast", unit: "visits per second", format: count, live: true, lines: load, bands: median && forecast ? [[2, 1]] : forecast ? [[1, 0]] : undefined },
    {
      title: "Replicas",
      unit: "decisions are marked: click one",
      format: count,
      live: true,
      lines: [
        { name: "wanted", values: s.wanted, hue: 3, step: true, dash: [2, 3] },
        { name: "applied", values: s.applied, hue: 0, step: true },
        { name: "ready", values: s.ready, hue: 2, step: true },
      ],
      marks,
      onMark,
    },
    { title: "CPU", unit: "cores", format: cores, live: true, lines: [{ name: "requested", values: s.requested, hue: 7, step: true, dash: [5, 4] }, { name: "in use", values: s.cpu, hue: 0, area: true }] },
    { title: "p99 of a visit", unit: "with its calls to others", format: milliseconds, live: true, log: true, lines: [{ name: "p99", values: ms(s.latency), hue: 0 }] },
    { title: "Throttled", unit: "share of quota periods", format: percent, live: true, lines: [{ name: "throttled", values: s.throttled, hue: -1, area: true, step: true }] },
  ];
}
