// Learning curves: what was reached after so many steps.

import uPlot from "uplot";
import { axis } from "./axes";
import { makeChart, type Chart } from "./chart";
import { figure } from "./format";

export interface Way {
  name: string;
  steps: number[];
  rewards: (number | null)[];
  ink: () => string;
  dash?: number[];
}

export interface ProgressFrame {
  box: HTMLElement;
  height: number;
  about: string;
  ways: Way[];
  /** What the rewards are called; DRPC's, from 0 to 1, unless they are free. */
  yLabel?: string;
  free?: boolean;
  onCursor?: (steps: number | null, rewards: (number | null)[]) => void;
}

export function progress(frame: ProgressFrame): Chart {
  const xs = [...new Set(frame.ways.flatMap((w) => w.steps))].sort((a, b) => a - b);
  const ys = frame.ways.map((w) => {
    const at = new Map(w.steps.map((s, i) => [s, w.rewards[i] ?? null]));
    return xs.map((x) => at.get(x)); // undefined: the line goes on to the next point
  });
  const before = (i: number, way: number) => {
    for (let j = i; j >= 0; j--) if (ys[way]![j] !== undefined) return ys[way]![j] ?? null;
    return null;
  };
  return makeChart(
    {
      box: frame.box,
      height: frame.height,
      about: frame.about,
      onCursor: (i) => frame.onCursor?.(i === null ? null : xs[i]!, frame.ways.map((_, way) => (i === null ? null : before(i, way)))),
    },
    {
      cursor: { y: false, points: { size: 6 }, drag: { x: false, y: false } },
      scales: { x: { time: false }, y: { range: frame.free ? undefined : (_, low, high) => [Math.max(0, (low ?? 0) - 0.03), Math.min(1, (high ?? 1) + 0.03)] } },
      axes: [
        axis({ label: "environment steps", labelSize: 18, size: 28, values: (_, ticks) => ticks.map((t) => figure(t)) }),
        axis({ label: frame.yLabel ?? "DRPC’s reward", labelSize: 18, size: 54, values: (_, ticks) => ticks.map((t) => figure(t, 2)) }),
      ],
      series: [{}, ...frame.ways.map((w): uPlot.Series => ({ label: w.name, stroke: w.ink, width: 2, dash: w.dash, points: { show: true, size: 5 }, spanGaps: true }))],
    },
    [xs, ...ys] as uPlot.AlignedData,
  );
}
