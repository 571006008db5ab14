// One quantity over time: a panel of lines that share a unit. Panels with the
// same key move their cursors and zoom together.

import uPlot from "uplot";
import { clockAxis, logAxis, timeAxis, valueAxis } from "./axes";
import { makeChart, type Chart } from "./chart";
import { clock } from "./format";
import { drawLevel, marker, type Level } from "./marks";
import { colour, hue } from "./theme";

export interface Line {
  name: string;
  values: (number | null)[];
  hue: number; // -1 = the colour of what goes wrong, -2 = that of text
  dash?: number[];
  step?: boolean; // holds its value until the next
  area?: boolean;
  bars?: boolean;
  nudge?: number; // drawn so much of the axis higher, so that equal lines do not hide each other
}

export interface Panel {
  title: string;
  unit: string;
  lines: Line[];
  levels?: Level[];
  format: (v: number | null | undefined) => string;
  height?: number;
  log?: boolean;
  /** Common end of the axis, for panels that are compared. */
  range?: [number, number];
  /** The values of the lines change: the axis follows them. */
  live?: boolean;
  /** Pairs of lines, the upper one first, between which the paper is tinted. */
  bands?: [number, number][];
  /** What happened, to click at. */
  marks?: () => Mark[];
  onMark?: (index: number) => void;
}

/** Something that happened at a time, drawn on the level of a value. */
export interface Mark {
  t: number;
  value: number;
  strong: boolean;
}

export interface TimelineFrame {
  box: HTMLElement;
  t: number[];
  panel: Panel;
  key: string;
  about: string;
  onCursor?: (index: number | null) => void;
  /** Times are instants in Unix seconds, not seconds of a run. */
  instants?: boolean;
}

const HEIGHT = 132;

export function timeline(frame: TimelineFrame): Chart {
  const { panel, box } = frame;
  const readings = legend(box, panel);
  const range = panel.range ?? rangeOf(panel);
  const canvas = box.appendChild(document.createElement("div"));
  const show = (index: number | null) => {
    readings(index);
    frame.onCursor?.(index);
  };
  const chart = makeChart(
    { box: canvas, height: panel.height ?? HEIGHT, about: frame.about, onCursor: show },
    {
      padding: [null, 32, null, null], // for the last label of the time axis
      cursor: { sync: { key: frame.key, scales: ["x", null] }, y: false, points: { size: 6 }, drag: { x: true, y: false } },
      scales: { x: { time: false }, y: { distr: panel.log ? 3 : 1, range: panel.live ? () => rangeOf(panel) : range } },
      axes: [frame.instants ? clockAxis() : timeAxis(), panel.log ? logAxis({ size: 60 }, panel.format) : valueAxis(60, panel.format)],
      series: [{}, ...panel.lines.map((line) => series(line))],
      bands: panel.bands?.map((pair) => ({ series: [pair[0] + 1, pair[1] + 1], fill: () => hueOf(panel.lines[pair[0]]!) + "24" })),
      hooks: { draw: [(u) => panel.levels?.forEach((level) => drawLevel(u, level, "x", "y")), (u) => drawMarks(u, panel)] },
    },
    [frame.t, ...panel.lines.map((line) => nudged(line, range[1]))] as uPlot.AlignedData,
  );
  if (panel.onMark) clickable(chart.plot, panel);
  return chart;
}

function drawMarks(u: uPlot, panel: Panel): void {
  const { ctx, bbox } = u;
  ctx.save();
  for (const m of panel.marks?.() ?? []) {
    const x = u.valToPos(m.t, "x", true);
    if (x < bbox.left || x > bbox.left + bbox.width) continue;
    marker(ctx, "diamond", x, u.valToPos(m.value, "y", true), 4.2 * devicePixelRatio, m.strong ? colour("mark") : colour("ink"), m.strong, colour("paper"));
  }
  ctx.restore();
}

/** Where a click, or Enter at the cursor, means a mark. */
const NEAR = 14;

function clickable(u: uPlot, panel: Panel): void {
  const nearest = (x: number, y: number | null): number | null => {
    let best: number | null = null;
    let least = NEAR;
    panel.marks?.().forEach((m, i) => {
      const far = Math.hypot(u.valToPos(m.t, "x") - x, y === null ? 0 : u.valToPos(m.value, "y") - y);
      if (far < least) [best, least] = [i, far];
    });
    return best;
  };
  u.over.addEventListener("mousemove", (event) => {
    u.over.style.cursor = nearest(event.offsetX, event.offsetY) === null ? "" : "pointer";
  });
  u.over.addEventListener("click", (event) => {
    const found = nearest(event.offsetX, event.offsetY);
    if (found !== null) panel.onMark!(found);
  });
  u.root.addEventListener("keydown", (event) => {
    const left = u.cursor.left ?? -1;
    const found = event.key === "Enter" && left >= 0 ? nearest(left, null) : null;
    if (found !== null) panel.onMark!(found);
  });
}

function hueOf(line: Line): string {
  return line.hue < 0 ? colour(line.hue === -2 ? "ink" : "mark") : hue(line.hue);
}

function nudged(line: Line, top: number): (number | null)[] {
  const by = (line.nudge ?? 0) * top;
  return by === 0 ? line.values : line.values.map((v) => (v === null ? null : v + by));
}

function series(line: Line): uPlot.Series {
  const ink = () => hueOf(line);
  const faint = () => ink() + "2e"; // hex colours only: see style.css
  return {
    label: line.name,
    stroke: ink,
    width: 1.5,
    dash: line.dash,
    points: { show: false },
    fill: line.bars ? ink : line.area ? faint : undefined,
    paths: line.bars ? uPlot.paths.bars!({ size: [0.8, 12], align: -1 }) : line.step ? uPlot.paths.stepped!({ align: -1 }) : undefined,
  };
}

/** The axis of a panel alone: from 0, or around the data if logarithmic. */
export function rangeOf(...panels: Panel[]): [number, number] {
  let low = Infinity;
  let high = -Infinity;
  for (const panel of panels) {
    for (const v of [...panel.lines.flatMap((l) => l.values), ...(panel.levels ?? []).map((l) => l.value)]) {
      if (v === null || !Number.isFinite(v) || (panel.log && v <= 0)) continue;
      low = Math.min(low, v);
      high = Math.max(high, v);
    }
  }
  if (!(high > -Infinity)) return [panels[0]?.log ? 0.1 : 0, 1];
  if (panels[0]?.log) return [low / 1.25, high * 1.4];
  return [0, high > 0 ? high * 1.06 : 1];
}

/** Title, and for each line its colour, its name and its value at the cursor. */
function legend(box: HTMLElement, panel: Panel): (index: number | null) => void {
  const head = document.createElement("div");
  head.className = "panel-head";
  const title = document.createElement("span");
  title.className = "panel-title";
  title.textContent = panel.title;
  const unit = document.createElement("span");
  unit.className = "panel-unit";
  unit.textContent = panel.unit;
  head.append(title, unit);
  const outputs = panel.lines.map((line) => {
    const entry = document.createElement("span");
    entry.className = "panel-entry";
    const key = document.createElement("span");
    key.className = `swatch ${line.hue < 0 ? (line.hue === -2 ? "hue-ink" : "hue-mark") : `hue-${line.hue % 8}`}${line.dash ? " dashed" : ""}`;
    const value = document.createElement("output");
    entry.append(key, line.name, " ", value);
    head.append(entry);
    return value;
  });
  box.append(head);
  return (index) => {
    panel.lines.forEach((line, i) => {
      outputs[i]!.textContent = index === null ? "" : panel.format(line.values[index]);
    });
  };
}

/** How a moment is called beside its values. */
export const moment = clock;
