// The bar that stays in sight: which applications, workloads and perturbations.

import type { Scenario } from "./data";
import { h, select } from "../base/dom";
import type { Store } from "./state";

type Axis = "app" | "workload" | "perturbation";
const AXES: [Axis, string][] = [["app", "App"], ["workload", "Workload"], ["perturbation", "Perturbation"]];

export function filters(store: Store): HTMLElement {
  const bar = h("nav", { class: "filters", "aria-label": "Filter and sections" });
  const draw = () => {
    const focused = bar.contains(document.activeElement) ? [...bar.querySelectorAll("select")].indexOf(document.activeElement as HTMLSelectElement) : -1;
    bar.replaceChildren(...AXES.map(([axis, name]) => axisSelect(store, axis, name)), h("span", { class: "count", role: "status" }, counted(store)), jumps(store));
    if (focused >= 0) bar.querySelectorAll("select")[focused]?.focus();
  };
  store.listen((changed) => {
    if (changed.has("app") || changed.has("workload") || changed.has("perturbation")) draw();
  });
  draw();
  return bar;
}

function axisSelect(store: Store, axis: Axis, name: string): HTMLElement {
  const values = [...new Set(store.summary.scenarios.map((scenario: Scenario) => scenario[axis]))];
  const all = { value: "", text: `All ${values.length}` };
  return select(name, values.length > 1 ? [all, ...values.map((v) => ({ value: v, text: v }))] : values.map((v) => ({ value: "", text: v })), store.state[axis], (value) => store.set({ [axis]: value }));
}

function counted(store: Store): string {
  const scenarios = store.scenarios().length;
  return scenarios === 0 ? "no scenario matches this filter" : `${scenarios} of ${store.summary.scenarios.length} scenarios`;
}

const SECTIONS = [["verdicts", "Verdict"], ["table", "Table"], ["tradeoff", "Cost and SLO"], ["latency", "Latency"], ["perturbations", "Perturbations"], ["learning", "Learning"], ["stories", "Runs"]] as const;

// Not links: the address holds the reader's choices.
function jumps(store: Store): HTMLElement {
  const there = SECTIONS.filter(([id]) => id !== "learning" || store.summary.curves);
  return h("span", { class: "jumps" }, ...there.map(([id, name]) => h("button", { type: "button", class: "quiet", onclick: () => document.getElementById(id)?.scrollIntoView() }, name)));
}
