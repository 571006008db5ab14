// How each policy looks, the same in every picture: its family has a colour and
// a shape; within it, the first is hollow and dashed, the others are solid.
// Nothing is shown by colour alone.

import { SHAPES, type Shape } from "../charts/marks";
import { colour, hue, HUES } from "../charts/theme";
import type { Summary } from "./data";
import { s } from "../base/dom";

export interface Look {
  ink: () => string;
  shape: Shape;
  filled: boolean;
  dash?: number[];
  mark: string; // class of its colour
  hue: number; // of its colour; -2 = that of text
}

export function looks(summary: Summary): Look[] {
  const families = new Map<string, number[]>();
  summary.policies.forEach((p, i) => {
    if (!p.reference) families.set(p.family, [...(families.get(p.family) ?? []), i]);
  });
  const names = [...families.keys()];
  return summary.policies.map((p, i) => {
    if (p.reference) return { ink: () => colour("ink"), shape: "cross", filled: false, dash: [2, 4], mark: "hue-ink", hue: -2 };
    const place = names.indexOf(p.family);
    const family = families.get(p.family)!;
    const variant = family.indexOf(i);
    const alone = family.length === 1;
    return {
      ink: () => hue(place),
      // Fewer shapes than hues: no two families share both.
      shape: SHAPES[place % SHAPES.length]!,
      filled: alone || variant > 0,
      dash: alone || variant === 1 ? undefined : variant === 0 ? [8, 5] : [3 * variant, 3],
      mark: `hue-${place % HUES}`,
      hue: place,
    };
  });
}

/** A policy's marker, for tables and legends. */
export function badge(look: Look): SVGElement {
  const paths: Record<Shape, string> = {
    circle: "M7 2.5a4.5 4.5 0 1 1 0 9a4.5 4.5 0 1 1 0-9z",
    square: "M3 3h8v8h-8z",
    triangle: "M7 2l5 9h-10z",
    diamond: "M7 1l5 6l-5 6l-5-6z",
    down: "M7 12l5-9h-10z",
    plus: "M5.2 1.8h3.6v3.4h3.4v3.6h-3.4v3.4h-3.6v-3.4h-3.4v-3.6h3.4z",
    hexagon: "M1.8 7l2.6-4.6h5.2l2.6 4.6l-2.6 4.6h-5.2z",
    cross: "M3 3l8 8M11 3l-8 8",
  };
  return s("svg", { class: `badge ${look.mark}${look.filled ? " filled" : ""}`, viewBox: "0 0 14 14", "aria-hidden": "true" }, s("path", { d: paths[look.shape] }));
}
