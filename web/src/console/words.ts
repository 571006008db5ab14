// Figures with their units, as all views of the page write them.

import { figure, milliseconds, percent, timeOfDay } from "../charts/format";
import { h } from "../base/dom";
import type { Allocation, Objective, Rung, Setting, Size } from "./data";

export function seconds(s: number | null | undefined): string {
  return milliseconds(s === null || s === undefined ? null : s * 1000);
}

/** Money with so many decimals that small amounts differ. */
export function money(v: number | null | undefined, currency: string): string {
  if (v === null || v === undefined || !Number.isFinite(v)) return "–";
  const size = Math.abs(v);
  const text = size >= 100 ? v.toFixed(0) : size >= 1 ? v.toFixed(2) : size >= 0.1 ? v.toFixed(3) : figure(v, 3);
  return `${text.replace("-", "−")} ${currency}`;
}

export function cores(v: number | null | undefined): string {
  if (v === null || v === undefined || !Number.isFinite(v)) return "–";
  return v < 1 ? `${Math.round(v * 1000)}m` : `${figure(v)} cores`;
}

export function bytes(v: number | null | undefined): string {
  if (v === null || v === undefined || !Number.isFinite(v)) return "–";
  const gib = v / 2 ** 30;
  return gib >= 1 ? `${figure(gib)} GiB` : `${figure(v / 2 ** 20)} MiB`;
}

export function rate(v: number | null | undefined): string {
  return v === null || v === undefined ? "–" : `${figure(v)}/s`;
}

export function sizeOf(s: Size | undefined): string {
  return s ? `${cores(s.cpu_request_cores)}, ${bytes(s.memory_request_bytes)}` : "";
}

export function allocation(a: Allocation): string {
  if (a.brownout) return "browned out";
  return `${replicas(a.replicas)} of ${cores(a.size.cpu_request)}`;
}

export function replicas(n: number): string {
  return `${n} ${n === 1 ? "replica" : "replicas"}`;
}

/** What a setting sets; the rest stays. */
export function setting(s: Setting | undefined): string {
  if (!s) return "no change";
  const parts: string[] = [];
  if (s.brownout !== undefined) parts.push(s.brownout ? "browned out" : "not browned out");
  if (s.replicas !== undefined) parts.push(replicas(s.replicas));
  if (s.cpu_request !== undefined) parts.push(`CPU request ${cores(s.cpu_request)}`);
  if (s.cpu_limit !== undefined) parts.push(`CPU limit ${s.cpu_limit === 0 ? "none" : cores(s.cpu_limit)}`);
  if (s.memory_request !== undefined) parts.push(`memory request ${bytes(s.memory_request)}`);
  if (s.memory_limit !== undefined) parts.push(`memory limit ${s.memory_limit === 0 ? "none" : bytes(s.memory_limit)}`);
  return parts.length > 0 ? parts.join(", ") : "no change";
}

/** An instant on the reader's clock, with the whole of it for machines and on hover. */
export function when(iso: string | undefined, withSeconds = true): HTMLElement {
  if (!iso) return h("span", {}, "–");
  const at = Date.parse(iso) / 1000;
  return h("time", { datetime: iso, title: new Date(at * 1000).toLocaleString() }, timeOfDay(at, withSeconds));
}

/** A date with its time, for what is further back than a day. */
export function dayAndTime(iso: string): string {
  return new Date(iso).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
}

export function percentile(o: { percentile?: number }): string {
  return `p${o.percentile ?? 99}`;
}

/** A bar from nothing to a target and beyond, with its text beside it. */
export function bar(share: number | undefined, tone: "good" | "bad" | "plain", target = false): HTMLElement {
  const fill = h("span", { class: "fill" });
  const box = h("span", { class: `gauge ${tone}${target ? " with-target" : ""}`, "aria-hidden": "true" }, fill);
  const most = target ? 1.5 : 1;
  fill.style.width = `${Math.max(0, Math.min(1, (share ?? 0) / most)) * 100}%`;
  return box;
}

/** A difference below this share is none. */
const SAME = 0.01;

/** Cost against the rule beside it. */
export function difference(base: { per_month: number; saved: number }): HTMLElement {
  const share = base.per_month > 0 ? base.saved / base.per_month : 0;
  if (Math.abs(share) < SAME) return h("span", { class: "strong" }, "about the same");
  return h("span", { class: `strong ${share > 0 ? "hue-good" : "hue-mark"}` }, `${share > 0 ? "−" : "+"}${figure(Math.abs(100 * share), 2)} %`);
}

export function rungBadge(rung: Rung | undefined): HTMLElement {
  if (!rung) return h("span", { class: "soft" }, "–");
  const calm = rung.name === "Primary";
  return h("span", { class: `badge-text ${calm ? "calm" : "warn"}`, title: rung.why ?? "" }, rung.name);
}

export function modeBadge(mode: string): HTMLElement {
  return h("span", { class: `badge-text mode-${["Observe", "Recommend", "Act"].includes(mode) ? mode : "other"}` }, mode || "–");
}

/** Latency against target in words. */
export function against(o: Objective): string {
  return `${seconds(o.latency_s)} of ${seconds(o.target_s)}`;
}

export function budgetText(left: number | undefined): string {
  if (left === undefined) return "–";
  return left < 0 ? `overspent ${figure(1 - left, 2)}×` : percent(left);
}

/** A command to copy. */
export function command(text: string, about: string): HTMLElement {
  const code = h("code", {}, text);
  const said = h("span", { class: "unseen", role: "status" });
  const button = h("button", { type: "button", class: "copy", "aria-label": `Copy: ${about}` }, "Copy");
  button.addEventListener("click", () => {
    void navigator.clipboard.writeText(text).then(
      () => {
        button.textContent = "Copied";
        said.textContent = "copied";
        setTimeout(() => (button.textContent = "Copy"), 2000);
      },
      () => {
        getSelection()?.selectAllChildren(code);
        said.textContent = "not allowed to copy: the command is selected";
      },
    );
  });
  return h("div", { class: "command" }, code, button, said);
}

/** A word of a shell, quoted where it needs to be. */
export function quoted(word: string): string {
  return /^[A-Za-z0-9_./:=,@%+-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
