// Shapes on a canvas: markers that differ by form as well as colour, and lines
// to compare with.

import type uPlot from "uplot";
import { colour } from "./theme";
import { labelFont } from "./axes";

export type Shape = "circle" | "square" | "triangle" | "diamond" | "down" | "plus" | "hexagon" | "cross";
/** Shapes to choose from; the cross is kept for what stands apart. */
export const SHAPES: Shape[] = ["circle", "square", "triangle", "diamond", "down", "plus", "hexagon"];

/** Draws a marker; hollow ones have the paper inside. */
export function marker(ctx: CanvasRenderingContext2D, shape: Shape, x: number, y: number, radius: number, ink: string, filled: boolean, paper: string): void {
  ctx.beginPath();
  const r = radius;
  if (shape === "circle") ctx.arc(x, y, r, 0, 2 * Math.PI);
  else if (shape === "square") ctx.rect(x - 0.9 * r, y - 0.9 * r, 1.8 * r, 1.8 * r);
  else if (shape === "triangle") polygon(ctx, [[x, y - 1.15 * r], [x + 1.1 * r, y + 0.85 * r], [x - 1.1 * r, y + 0.85 * r]]);
  else if (shape === "diamond") polygon(ctx, [[x, y - 1.3 * r], [x + 1.1 * r, y], [x, y + 1.3 * r], [x - 1.1 * r, y]]);
  else if (shape === "down") polygon(ctx, [[x, y + 1.15 * r], [x + 1.1 * r, y - 0.85 * r], [x - 1.1 * r, y - 0.85 * r]]);
  else if (shape === "hexagon") polygon(ctx, [[x - 1.2 * r, y], [x - 0.6 * r, y - r], [x + 0.6 * r, y - r], [x + 1.2 * r, y], [x + 0.6 * r, y + r], [x - 0.6 * r, y + r]]);
  else if (shape === "plus") plus(ctx, x, y, 1.15 * r, 0.45 * r);
  else {
    for (const s of [1, -1]) {
      ctx.moveTo(x - r, y - s * r);
      ctx.lineTo(x + r, y + s * r);
    }
  }
  ctx.lineWidth = Math.max(1.5, radius / 2.6);
  ctx.strokeStyle = ink;
  ctx.setLineDash([]);
  if (shape !== "cross") {
    ctx.fillStyle = filled ? ink : paper;
    ctx.fill();
  }
  ctx.stroke();
}

function polygon(ctx: CanvasRenderingContext2D, points: [number, number][]): void {
  points.forEach(([x, y], i) => (i === 0 ? ctx.moveTo(x, y) : ctx.lineTo(x, y)));
  ctx.closePath();
}

function plus(ctx: CanvasRenderingContext2D, x: number, y: number, r: number, w: number): void {
  polygon(ctx, [[x - w, y - r], [x + w, y - r], [x + w, y - w], [x + r, y - w], [x + r, y + w], [x + w, y + w], [x + w, y + r], [x - w, y + r], [x - w, y + w], [x - r, y + w], [x - r, y - w], [x - w, y - w]]);
}

export interface Level {
  name: string;
  value: number;
}

/** A dashed line at a level of a scale, with its name at its end. */
export function drawLevel(u: uPlot, level: Level, along: "x" | "y", scale: string): void {
  const { ctx, bbox } = u;
  const at = Math.round(u.valToPos(level.value, scale, true));
  const low = along === "x" ? bbox.top : bbox.left;
  const high = low + (along === "x" ? bbox.height : bbox.width);
  if (at < low - 1 || at > high + 1 || !Number.isFinite(at)) return;
  const ratio = devicePixelRatio;
  ctx.save();
  ctx.beginPath();
  ctx.strokeStyle = ctx.fillStyle = colour("mark");
  ctx.lineWidth = 1.3 * ratio;
  ctx.setLineDash([6 * ratio, 4 * ratio]);
  if (along === "x") {
    ctx.moveTo(bbox.left, at);
    ctx.lineTo(bbox.left + bbox.width, at);
  } else {
    ctx.moveTo(at, bbox.top);
    ctx.lineTo(at, bbox.top + bbox.height);
  }
  ctx.stroke();
  ctx.font = labelFont(11 * ratio);
  if (along === "x") {
    const above = at - bbox.top > 16 * ratio;
    ctx.textAlign = "right";
    ctx.textBaseline = above ? "bottom" : "top";
    ctx.fillText(level.name, bbox.left + bbox.width - 4 * ratio, at + (above ? -3 : 3) * ratio);
  } else {
    const left = at - bbox.left > bbox.width / 2;
    ctx.textAlign = left ? "right" : "left";
    ctx.textBaseline = "top";
    ctx.fillText(level.name, at + (left ? -4 : 4) * ratio, bbox.top + 3 * ratio);
  }
  ctx.restore();
}
