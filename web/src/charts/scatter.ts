// Cost against violations: one marker per policy with its intervals, the front
// of those that no other beats on both, and names beside the markers.

import uPlot from "uplot";
import { axis, labelFont } from "./axes";
import { makeChart, type Chart } from "./chart";
import { figure } from "./format";
import { place } from "./labels";
import { drawLevel, marker, type Shape } from "./marks";
import { colour } from "./theme";

export type Spread = [mean: number, low: number, high: number];

export interface Point {
  name: string;
  x: Spread;
  y: Spread; // a share
  ink: () => string;
  shape: Shape;
  filled: boolean;
  front: boolean;
}

export interface ScatterFrame {
  box: HTMLElement;
  height: number;
  about: string;
  points: Point[];
  limit: number; // share up to which x counts
  bound?: number; // below which no x can be
  xLabel: string;
  yLabel: string;
  onPoint: (index: number | null) => void;
}

export interface Scatter extends Chart {
  highlight(index: number | null): void;
}

// Shares run from nothing to everything: decades, with all below the lowest
// drawn on it.
const FLOOR = 1e-4;
const up = (share: number) => Math.log10(Math.max(FLOOR, share));
const NAMES = new Map([[-4, "≤ 0.01 %"], [-3, "0.1 %"], [-2, "1 %"], [-1, "10 %"], [0, "100 %"]]);

export function scatter(frame: ScatterFrame): Scatter {
  const points = frame.points;
  let marked: number | null = null;
  // A wide interval of one policy must not squeeze all others into a corner: it
  // may run off the paper.
  const furthest = 1.3 * Math.max(...points.map((p) => p.x[0]));
  const xs = points.flatMap((p) => p.x.filter(Number.isFinite).map((v) => Math.min(v, furthest)));
  if (frame.bound !== undefined && frame.bound > 0.5 * Math.min(...xs)) xs.push(frame.bound);
  const [least, most] = [Math.min(...xs), Math.max(...xs)];
  const spare = (most - least || most || 1) * 0.12;
  const range: [number, number] = [Math.max(0, least - spare), most + spare * 1.6];
  const top = Math.max(...points.map((p) => up(p.y[2] || p.y[0])), up(frame.limit) + 0.6);
  const order = points.map((_, i) => i).sort((i, j) => points[i]!.x[0] - points[j]!.x[0]);

  const chart = makeChart(
    { box: frame.box, height: frame.height, about: frame.about },
    {
      cursor: { x: false, y: false, points: { show: false }, drag: { x: false, y: false } },
      scales: { x: { time: false, range }, y: { range: [-4.25, Math.min(0.12, top + 0.25)] } },
      axes: [
        axis({ label: frame.xLabel, labelSize: 18, size: 28, space: 90, values: (_, ticks) => ticks.map((t) => figure(t)) }),
        axis({ label: frame.yLabel, labelSize: 18, size: 62, splits: (_u, _axis, low, high) => [...NAMES.keys()].filter((v) => v >= low && v <= high), values: (_, ticks) => ticks.map((t) => NAMES.get(t) ?? "") }),
      ],
      series: [{}, { paths: () => null, points: { show: false } }],
      hooks: {
        drawClear: [(u) => shadeBroken(u, frame.limit)],
        draw: [
          (u) => {
            drawLevel(u, { name: "SLO met below this line", value: up(frame.limit) }, "x", "y");
            if (frame.bound !== undefined) drawLevel(u, { name: "lower bound with the SLO met", value: frame.bound }, "y", "x");
            drawFront(u, order.map((i) => points[i]!));
            clipped(u, () => points.forEach((p, i) => drawSpread(u, p, i === marked)));
            points.forEach((p, i) => drawMarker(u, p, i === marked));
            drawNames(u, points, marked);
          },
        ],
      },
    },
    [order.map((i) => points[i]!.x[0]), order.map((i) => up(points[i]!.y[0]))],
  );
  const highlight = (index: number | null) => {
    if (marked === index) return;
    marked = index;
    chart.plot.redraw(false, false);
  };
  chart.plot.over.addEventListener("mousemove", (event) => {
    const near = nearest(chart.plot, points, event.offsetX, event.offsetY);
    highlight(near);
    frame.onPoint(near);
  });
  chart.plot.over.addEventListener("mouseleave", () => {
    highlight(null);
    frame.onPoint(null);
  });
  return { ...chart, highlight };
}

function nearest(u: uPlot, points: Point[], x: number, y: number): number | null {
  let best: number | null = null;
  let least = 28;
  points.forEach((p, i) => {
    const far = Math.hypot(u.valToPos(p.x[0], "x") - x, u.valToPos(up(p.y[0]), "y") - y);
    if (far < least) [best, least] = [i, far];
  });
  return best;
}

function clipped(u: uPlot, draw: () => void): void {
  u.ctx.save();
  u.ctx.beginPath();
  u.ctx.rect(u.bbox.left, u.bbox.top, u.bbox.width, u.bbox.height);
  u.ctx.clip();
  draw();
  u.ctx.restore();
}

/** Where the SLO is broken, cost means nothing: the paper says so. */
function shadeBroken(u: uPlot, limit: number): void {
  const { ctx, bbox } = u;
  const at = u.valToPos(up(limit), "y", true);
  ctx.save();
  ctx.fillStyle = colour("broken");
  ctx.fillRect(bbox.left, bbox.top, bbox.width, Math.max(0, at - bbox.top));
  ctx.restore();
}

function drawFront(u: uPlot, sorted: Point[]): void {
  const { ctx } = u;
  ctx.save();
  ctx.beginPath();
  ctx.strokeStyle = colour("axis");
  ctx.lineWidth = 2 * devicePixelRatio;
  let before: number | null = null;
  for (const p of sorted) {
    if (!p.front) continue;
    const x = u.valToPos(p.x[0], "x", true);
    const y = u.valToPos(up(p.y[0]), "y", true);
    if (before === null) ctx.moveTo(x, y);
    else {
      ctx.lineTo(x, before); // nothing is reached in between: a step
      ctx.lineTo(x, y);
    }
    before = y;
  }
  ctx.stroke();
  ctx.restore();
}

function drawSpread(u: uPlot, p: Point, strong: boolean): void {
  const { ctx } = u;
  const cap = 3.5 * devicePixelRatio;
  const [x, x0, x1] = p.x.map((v) => u.valToPos(v, "x", true)) as Spread;
  const [y, y0, y1] = p.y.map((v) => u.valToPos(up(v), "y", true)) as Spread;
  ctx.save();
  ctx.globalAlpha = strong ? 1 : 0.65;
  ctx.strokeStyle = p.ink();
  ctx.lineWidth = (strong ? 2 : 1.3) * devicePixelRatio;
  ctx.beginPath();
  if (Number.isFinite(x0) && Number.isFinite(x1)) {
    ctx.moveTo(x0, y);
    ctx.lineTo(x1, y);
    for (const end of [x0, x1]) {
      ctx.moveTo(end, y - cap);
      ctx.lineTo(end, y + cap);
    }
  }
  if (Number.isFinite(y0) && Number.isFinite(y1)) {
    ctx.moveTo(x, y0);
    ctx.lineTo(x, y1);
    for (const end of [y0, y1]) {
      ctx.moveTo(x - cap, end);
      ctx.lineTo(x + cap, end);
    }
  }
  ctx.stroke();
  ctx.restore();
}

function drawMarker(u: uPlot, p: Point, strong: boolean): void {
  const radius = (strong ? 8 : 6) * devicePixelRatio;
  u.ctx.save();
  marker(u.ctx, p.shape, u.valToPos(p.x[0], "x", true), u.valToPos(up(p.y[0]), "y", true), radius, p.ink(), p.filled, colour("paper"));
  u.ctx.restore();
}

const LONGEST_NAME = 28;

function drawNames(u: uPlot, points: Point[], marked: number | null): void {
  const { ctx, bbox } = u;
  const ratio = devicePixelRatio;
  ctx.save();
  ctx.textBaseline = "middle";
  ctx.textAlign = "left";
  ctx.font = labelFont(12 * ratio);
  const names = points.map((p) => (p.name.length > LONGEST_NAME ? `${p.name.slice(0, LONGEST_NAME - 1)}…` : p.name));
  const spots = place(
    points.map((p, i) => ({
      x: u.valToPos(p.x[0], "x", true),
      y: u.valToPos(up(p.y[0]), "y", true),
      width: ctx.measureText(names[i]!).width,
      height: 14 * ratio,
      clear: 10 * ratio,
    })),
    bbox,
  );
  spots.forEach((spot, i) => {
    if (!spot) return;
    ctx.font = `${i === marked ? "600 " : ""}${labelFont(12 * ratio)}`;
    ctx.lineWidth = 3 * ratio;
    ctx.strokeStyle = colour("paper");
    ctx.strokeText(names[i]!, spot.x, spot.y);
    ctx.fillStyle = colour("ink");
    ctx.fillText(names[i]!, spot.x, spot.y);
  });
  ctx.restore();
}
