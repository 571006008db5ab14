// Cells of the table: a mean, its interval, and a picture of both.

import { decimalsOf, figure, fixed, milliseconds, percent } from "../charts/format";
import type { Measure, Triple } from "./data";
import { h, s } from "../base/dom";

export function format(measure: Measure, v: number | null): string {
  if (measure.unit === "%") return percent(v);
  if (measure.unit === "ms") return milliseconds(v);
  return figure(v);
}

/** A value as "1.23 ±0.04", both with the same decimals; the exact interval is
 * its tooltip. */
export function value(measure: Measure, t: Triple | undefined): HTMLElement {
  if (!t || t[0] === null) return h("span", { class: "absent" }, "–");
  const [mean, low, high] = t;
  const known = low !== null && high !== null;
  const title = known ? `${format(measure, mean)}, 95 % interval ${format(measure, low)} to ${format(measure, high)}` : "one seed: no interval";
  const scale = measure.unit === "%" ? 100 : 1;
  const unit = measure.unit === "%" || measure.unit === "ms" ? ` ${measure.unit}` : "";
  if (mean !== 0 && Math.abs(mean) * scale < 0.01) return h("span", { class: "value", title }, format(measure, mean));
  const decimals = decimalsOf(mean * scale, measure.unit === "%" && mean < 0.01 ? 2 : 3);
  return h("span", { class: "value", title }, fixed(mean * scale, decimals) + unit, known && high > low && h("span", { class: "half" }, ` ±${fixed(((high - low) / 2) * scale, decimals)}`));
}

/** A difference with its sign; strong where the interval leaves zero out. */
export function difference(measure: Measure, t: Triple | undefined, base?: number | null): HTMLElement {
  if (!t || t[0] === null) return h("span", { class: "absent" }, "–");
  const [mean, low, high] = t;
  const scale = base ? 100 / base : measure.unit === "%" ? 100 : 1;
  const unit = base ? " %" : measure.unit === "%" ? " pp" : "";
  const signed = (v: number) => `${v > 0 ? "+" : ""}${figure(v * scale, 2)}`;
  const clear = low !== null && high !== null && (low > 0 || high < 0);
  if (mean === 0 && (low === null || low === high)) return h("span", { class: "absent" }, "0");
  return h(
    "span",
    { class: `value difference${clear ? (mean < 0 ? " less" : " more") : " unclear"}`, title: low === null || high === null ? "one seed: no interval" : `95 % interval ${signed(low)} to ${signed(high)}${unit}${clear ? "" : ": zero is in it"}` },
    `${signed(mean)}${unit}`,
    low !== null && high !== null && high > low && h("span", { class: "half" }, ` ±${figure(((high - low) / 2) * scale, 2)}`),
  );
}

/** The interval as a whisker on a scale from 0 to the group's largest. */
export function whisker(t: Triple | undefined, largest: number, mark: string, counts: boolean): SVGElement | null {
  if (!t || t[0] === null || !(largest > 0)) return null;
  const [width, height] = [72, 14];
  const at = (v: number) => 2 + (v / largest) * (width - 4);
  const [mean, low, high] = t;
  return s(
    "svg",
    { class: `whisker ${mark}${counts ? "" : " void"}`, viewBox: `0 0 ${width} ${height}`, width, height, "aria-hidden": "true" },
    s("rect", { x: 2, y: 4, width: Math.max(0, at(mean) - 2), height: 6, rx: 1 }),
    low !== null && high !== null && high > low && s("path", { d: `M${at(low)} 7H${at(high)}M${at(low)} 3.5v7M${at(high)} 3.5v7` }),
  );
}
