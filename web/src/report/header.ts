// What was compared, by whom, and with what.

import type { Summary } from "./data";
import { h } from "../base/dom";
import { logo, themeButton } from "../base/header";

export function header(summary: Summary): HTMLElement {
  const distinct = (of: (i: number) => string) => new Set(summary.scenarios.map((_, i) => of(i))).size;
  const runs = summary.rows.reduce((n, r) => n + (r.runs?.length ?? 0), 0);
  const facts: [string, string][] = [
    ["Suite", summary.suite || "custom"],
    ["Runs", `${runs}: ${count(summary.policies.length, "policy", "policies")} × ${count(distinct((i) => summary.scenarios[i]!.app), "app")} × ${count(distinct((i) => summary.scenarios[i]!.workload), "workload")} × ${count(distinct((i) => summary.scenarios[i]!.perturbation), "perturbation")}`],
    ["Seeds", String(summary.seeds)],
    ["Engine", summary.engines.join(", ")],
    ["Baseline", summary.baseline || "none"],
    ["Program", summary.programs.join(", ")],
  ];
  const made = [
    h("dl", { class: "facts" }, ...facts.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value)))),
    summary.programs.length > 1 && h("p", { class: "warning" }, "These runs were made by different versions of the program, which may explain differences."),
    h("p", { class: "rule" }, `A cost counts only where the SLO is met: at most ${summary.counts_if * 100} % of a run’s requests failed or took longer than it allows. Intervals are 95 %, over seeds; differences are paired, seed by seed.`),
  ];
  return h(
    "header",
    {},
    h("div", { class: "title" }, logo(), h("h1", {}, "Loadline report"), themeButton()),
    // A page with an answer begins with it.
    ...(summary.lead ? [h("details", {}, h("summary", {}, "How these runs were made"), ...made)] : made),
  );
}

function count(n: number, one: string, many = `${one}s`): string {
  return `${n} ${n === 1 ? one : many}`;
}
