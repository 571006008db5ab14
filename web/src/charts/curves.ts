// Distributions as survival curves on logarithms of both axes: how many
// requests take longer than so many milliseconds. The tail, where SLOs live,
// gets the room that a plain distribution would give to the median.

import uPlot from "uplot";
import { axis, logAxis } from "./axes";
import { makeChart, type Chart } from "./chart";
import { milliseconds, percent } from "./format";
import { drawLevel, type Level } from "./marks";

export interface Curve {
  name: string;
  ms: number[];
  slower: number[];
  ink: () => string;
  dash?: number[];
}

export interface CurveFrame {
  box: HTMLElement;
  height: number;
  about: string;
  curves: Curve[];
  slo: Level; // ms
  allowed: Level; // share
  onCursor?: (ms: number | null, slower: (number | null)[]) => void;
}

/** The least share that is drawn: below it are single requests. */
const LEAST = 1e-4;

export function curves(frame: CurveFrame): Chart {
  const xs = grid(frame.curves, frame.slo.value);
  const ys = frame.curves.map((curve) => xs.map((x) => slowerThan(curve, x)));
  return makeChart(
    {
      box: frame.box,
      height: frame.height,
      about: frame.about,
      onCursor: (i) => frame.onCursor?.(i === null ? null : xs[i]!, ys.map((y) => (i === null ? null : (y[i] ?? null)))),
    },
    {
      cursor: { y: false, points: { size: 6 }, drag: { x: false, y: false } },
      scales: {
        x: { time: false, distr: 3, range: [xs[0]!, xs[xs.length - 1]!] },
        y: { distr: 3, range: [LEAST, 1] },
      },
      axes: [
        logAxis({ label: "latency", labelSize: 18, size: 28 }, milliseconds),
        axis({
          label: "requests that take longer",
          labelSize: 18,
          size: 54,
          splits: () => [1e-4, 1e-3, 1e-2, 1e-1, 1],
          values: (_, ticks) => ticks.map((t) => (t <= LEAST ? "0.01 %" : percent(t))),
        }),
      ],
      series: [{}, ...frame.curves.map((c): uPlot.Series => ({ label: c.name, stroke: c.ink, width: 2, dash: c.dash, points: { show: false }, spanGaps: false }))],
      hooks: {
        draw: [
          (u) => {
            drawLevel(u, frame.slo, "y", "x");
            drawLevel(u, frame.allowed, "x", "y");
          },
        ],
      },
    },
    [xs, ...ys] as uPlot.AlignedData,
  );
}

/** Latencies to draw at, evenly in their logarithm, around all curves. */
function grid(all: Curve[], slo: number): number[] {
  let low = slo;
  let high = slo;
  for (const c of all) {
    // The body below the median is flat here: a tenth of it is enough.
    const first = c.ms.find((v, i) => v > 0 && c.slower[i]! < 0.97);
    if (first) low = Math.min(low, first);
    const last = c.ms.find((_, i) => c.slower[i]! <= LEAST);
    if (last) high = Math.max(high, last);
  }
  low /= 1.15;
  high *= 1.3;
  const points = 240;
  return Array.from({ length: points + 1 }, (_, i) => low * (high / low) ** (i / points));
}

/** The share above a latency: between the curve's points, straight on the page. */
export function slowerThan(curve: Curve, x: number): number | null {
  const { ms, slower } = curve;
  let i = 0;
  let j = ms.length;
  while (i < j) {
    const middle = (i + j) >> 1;
    if (ms[middle]! <= x) i = middle + 1;
    else j = middle;
  }
  if (i === ms.length) return null;
  const [x0, y0] = i === 0 ? [ms[0]! / 2, 1] : [ms[i - 1]!, slower[i - 1]!];
  const [x1, y1] = [ms[i]!, slower[i]!];
  if (y0 <= LEAST / 10) return null;
  const part = Math.min(1, Math.max(0, Math.log(x / x0) / Math.log(x1 / x0)));
  return y0 * (Math.max(y1, LEAST / 20) / y0) ** part;
}
