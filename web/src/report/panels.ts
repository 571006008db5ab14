// A story as panels: load, replicas, CPU, latency, decisions.

import { figure, milliseconds } from "../charts/format";
import { rangeOf, type Line, type Panel } from "../charts/timeline";
import type { Kind, Story } from "./data";

/** Lines that can be distinguished in one panel. */
const MOST_LINES = 7;
const MOST_KINDS = 5; // and latencies cross

/** The panels of stories that are compared: the same lines in each, and the
 * same axes, so that heights can be compared. */
export function panelsOf(stories: Story[], kinds: Kind[]): Panel[][] {
  const services = largest(stories);
  const shown = tightest(stories, kinds);
  const all = stories.map((story) => panels(story, services, shown, kinds));
  all[0]?.forEach((_, i) => {
    const range = rangeOf(...all.map((panels) => panels[i]!));
    all.forEach((panels) => (panels[i]!.range = range));
  });
  return all;
}

function panels(story: Story, services: string[], shown: Kind[], kinds: Kind[]): Panel[] {
  const rate = (v: number | null | undefined) => figure(v);
  return [
    { title: "Load", unit: "requests/s", format: rate, lines: [{ name: "arrived", values: story.load, hue: 0, area: true }, { name: "failed", values: story.failed, hue: -1, area: true }] },
    latencyPanel(story, shown, kinds),
    { title: "CPU", unit: "cores", format: rate, lines: [{ name: "requested", values: story.asked, hue: 1, step: true, dash: [6, 3] }, { name: "used", values: story.used, hue: 0, area: true }] },
    { title: "Replicas", unit: "ready pods", format: rate, height: 160, lines: replicaLines(story, services) },
    { title: "Decisions", unit: "changes per step", format: rate, height: 84, lines: [{ name: "changes", values: story.changed, hue: 4, bars: true }] },
  ];
}

/** Kinds whose latency comes nearest to their SLO, or goes furthest beyond. */
function tightest(stories: Story[], kinds: Kind[]): Kind[] {
  const worst = (k: Kind) => Math.max(...stories.flatMap((s) => (s.at_slo[k.name] ?? []).map((v) => (v ?? 0) / k.slo_ms)));
  return [...kinds].sort((a, b) => worst(b) - worst(a)).slice(0, MOST_KINDS);
}

/** Services with most replicas. */
function largest(stories: Story[]): string[] {
  const total = (name: string) => Math.max(...stories.map((s) => (s.replicas[name] ?? []).reduce<number>((sum, v) => sum + (v ?? 0), 0)));
  const names = [...new Set(stories.flatMap((s) => Object.keys(s.replicas)))].sort();
  const order = [...names].sort((a, b) => total(b) - total(a));
  const shown = order.length > MOST_LINES ? order.slice(0, MOST_LINES - 1) : order;
  return names.filter((name) => shown.includes(name));
}

/** Milliseconds with one SLO; otherwise each kind against its own. */
function latencyPanel(story: Story, shown: Kind[], kinds: Kind[]): Panel {
  const left = kinds.length - shown.length;
  const common = shown.every((k) => k.slo_ms === shown[0]?.slo_ms && k.percentile === shown[0]?.percentile);
  const title = `Latency at the SLO’s percentile${left > 0 ? ` (${left} kinds with lower latency omitted)` : ""}`;
  const values = (k: Kind) => story.at_slo[k.name] ?? story.load.map(() => null);
  const lines = shown.map((k): Line => ({ name: `${k.name} p${k.percentile}`, hue: kinds.indexOf(k), values: common ? values(k) : values(k).map((v) => (v === null ? null : (100 * v) / k.slo_ms)) }));
  if (common) return { title, unit: "log scale", log: true, format: milliseconds, lines, levels: shown[0] ? [{ name: `SLO ${milliseconds(shown[0].slo_ms)}`, value: shown[0].slo_ms }] : [] };
  return { title, unit: "% of the SLO, log scale", log: true, format: (v) => (v == null ? "–" : `${figure(v, 2)} %`), lines, levels: [{ name: "SLO", value: 100 }] };
}

/** The given services by name, the mean of the others as one line. */
function replicaLines(story: Story, services: string[]): Line[] {
  const lines = services.map((name, i): Line => ({ name, hue: i, step: true, values: story.replicas[name] ?? story.load.map(() => null) }));
  const rest = Object.keys(story.replicas).filter((name) => !services.includes(name));
  if (rest.length > 0) {
    const sum = story.load.map((_, t) => rest.reduce((total, name) => total + (story.replicas[name]![t] ?? 0), 0));
    lines.push({ name: `${rest.length} others, mean`, hue: 7, step: true, dash: [4, 3], values: sum.map((v) => v / rest.length) });
  }
  // Counts are often equal: lines side by side rather than one over the other.
  lines.forEach((line, i) => (line.nudge = (i - (lines.length - 1) / 2) * 0.016));
  return lines;
}
