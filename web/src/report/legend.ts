// The policies of a scenario beside a chart: what the marks mean, and values that
// follow the pointer. Each entry can be reached by keyboard.

import type { Chart } from "../charts/chart";
import { h } from "../base/dom";
import { badge, type Look } from "./policies";

export interface Entry {
  name: string;
  look: Look;
  note?: string;
}

export interface Legend {
  element: HTMLElement;
  /** Writes a value beside each entry. */
  show(values: string[]): void;
  highlight(index: number | null): void;
}

export function legend(entries: Entry[], onPoint: (index: number | null) => void): Legend {
  const outputs: HTMLElement[] = [];
  const items = entries.map((entry, i) => {
    const output = h("output", {});
    outputs.push(output);
    return h(
      "button",
      { type: "button", class: "entry", onmouseenter: () => onPoint(i), onmouseleave: () => onPoint(null), onfocus: () => onPoint(i), onblur: () => onPoint(null) },
      badge(entry.look),
      h("span", { class: "label" }, entry.name),
      entry.note && h("span", { class: "entry-note" }, entry.note),
      output,
    );
  });
  return {
    element: h("div", { class: "legend" }, ...items),
    show: (values) => values.forEach((text, i) => (outputs[i]!.textContent = text)),
    highlight: (index) => items.forEach((item, i) => item.classList.toggle("marked", i === index)),
  };
}

/** Brings out one line of a chart, or none. */
export function highlight(chart: Chart | undefined, index: number | null): void {
  chart?.plot.series.forEach((series, i) => {
    if (i > 0) series.width = index === null ? 2 : i === index + 1 ? 3.5 : 1;
    if (i > 0) series.alpha = index === null || i === index + 1 ? 1 : 0.3;
  });
  chart?.plot.redraw(false, false);
}
