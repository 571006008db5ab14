// Axes that look alike in every chart.

import type uPlot from "uplot";
import { colour } from "./theme";
import { clock, figure, timeOfDay } from "./format";

/** The font of text on a canvas, so many pixels high. */
export function labelFont(pixels: number): string {
  return `${pixels}px ui-sans-serif, system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif`;
}

/** An axis in the page's colours. */
export function axis(more: uPlot.Axis): uPlot.Axis {
  return {
    font: labelFont(12),
    labelFont: labelFont(12),
    stroke: () => colour("soft"),
    grid: { stroke: () => colour("grid"), width: 1 },
    ticks: { stroke: () => colour("grid"), width: 1, size: 4 },
    gap: 4,
    labelGap: 2,
    ...more,
  };
}

/** Distances between ticks that people count time in, in seconds. */
const TIME_STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 14400, 21600, 43200, 86400, 172800, 604800];

export function timeAxis(): uPlot.Axis {
  return axis({
    incrs: TIME_STEPS,
    space: 64,
    size: 26,
    values: (_, ticks) => {
      const whole = ticks.every((t) => t % 60 === 0);
      return ticks.map((t) => clock(t, !whole));
    },
  });
}

/** The same for instants, in Unix seconds, as the clock of the reader shows them. */
export function clockAxis(): uPlot.Axis {
  return axis({
    incrs: TIME_STEPS,
    space: 64,
    size: 26,
    values: (_, ticks) => {
      const whole = ticks.every((t) => t % 60 === 0);
      return ticks.map((t) => timeOfDay(t, !whole));
    },
  });
}

/** A value axis with its unit written by the caller, in the panel's title. */
export function valueAxis(size = 52, format: (v: number) => string = (v) => figure(v)): uPlot.Axis {
  return axis({ size, space: 28, values: (_, ticks) => ticks.map((t) => (t === null ? "" : format(t))) });
}

/** A logarithmic axis: ticks at 1, 2 and 5 of each decade, as many as fit. */
export function logAxis(more: uPlot.Axis, format: (v: number) => string): uPlot.Axis {
  return axis({
    ...more,
    splits: (u, index, low, high) => logTicks(low, high, (index === 0 ? u.bbox.width / 80 : u.bbox.height / 26) / devicePixelRatio),
    filter: (_, ticks) => ticks, // uPlot's own would keep the powers of ten only
    values: (_, ticks) => ticks.map((t) => format(t)),
  });
}

function logTicks(low: number, high: number, most: number): number[] {
  const choices = [[1, 2, 5], [1, 3], [1]];
  let ticks: number[] = [];
  for (const mantissas of choices) {
    ticks = [];
    for (let decade = Math.floor(Math.log10(low)); decade <= Math.log10(high); decade++) {
      for (const m of mantissas) {
        const tick = Number(`${m}e${decade}`); // exact, unlike a product
        if (tick >= low && tick <= high) ticks.push(tick);
      }
    }
    if (ticks.length <= most) break;
  }
  return ticks;
}
