// How policies hold up: the same application and workload under each
// perturbation, policy by policy.

import { figure, percent } from "../charts/format";
import type { Row } from "./data";
import { h, section } from "../base/dom";
import { badge, type Look } from "./policies";
import type { Store } from "./state";

export function perturbations(store: Store, looks: Look[]): HTMLElement | null {
  if (new Set(store.summary.scenarios.map((s) => s.perturbation)).size < 2) return null;
  const box = h("div", {});
  const draw = () => box.replaceChildren(...matrix(store, looks));
  store.listen((changed) => {
    if (changed.has("scenario")) draw();
  });
  draw();
  return section("perturbations", "Perturbations", "Share of requests over the SLO under each perturbation, and below it the cost relative to the same policy without perturbation. ✗ marks an SLO violation.", box);
}

function matrix(store: Store, looks: Look[]): HTMLElement[] {
  const { summary } = store;
  const here = summary.scenarios[store.state.scenario];
  if (!here) return [];
  const scenarios = summary.scenarios.flatMap((s, i) => (s.app === here.app && s.workload === here.workload && s.engine === here.engine ? [i] : []));
  const title = h("p", { class: "scenario-title" }, `${here.app} · ${here.workload}`);
  if (scenarios.length < 2) return [title, h("p", { class: "soft" }, "This workload ran without perturbations only.")];
  const columns = scenarios.sort((i, j) => Number(summary.scenarios[j]!.perturbation === "none") - Number(summary.scenarios[i]!.perturbation === "none"));
  const find = (policy: number, scenario: number) => summary.rows.find((r) => r.policy === policy && r.scenario === scenario);
  const policies = [...new Set(columns.flatMap((scenario) => store.rowsOf(scenario).map((i) => summary.rows[i]!.policy)))];
  const kept = (policy: number) => columns.filter((scenario) => find(policy, scenario)?.met).length;
  const ran = (policy: number) => columns.filter((scenario) => find(policy, scenario)).length;
  policies.sort((p, q) => kept(q) - kept(p));
  return [
    title,
    h(
      "div",
      { class: "scroll", tabindex: 0, role: "region", "aria-label": "Policies by perturbation" },
      h(
        "table",
        { class: "matrix" },
        h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Policy"), h("th", { scope: "col" }, "SLO met in"), ...columns.map((scenario) => heading(store, scenario)))),
        h(
          "tbody",
          {},
          ...policies.map((policy) =>
            h(
              "tr",
              {},
              h("th", { scope: "row" }, h("span", { class: "policy" }, badge(looks[policy]!), h("span", { class: "label" }, summary.policies[policy]!.label))),
              h("td", {}, `${kept(policy)} of ${ran(policy)}`),
              ...columns.map((scenario) => cell(store.summary.cost, find(policy, scenario), find(policy, columns[0]!))),
            ),
          ),
        ),
      ),
    ),
  ];
}

function heading(store: Store, scenario: number): HTMLElement {
  const name = store.summary.scenarios[scenario]!.perturbation;
  return h("th", { scope: "col", title: store.summary.perturbations[name] }, name === "none" ? "undisturbed" : name, name !== "none" && h("span", { class: "what" }, store.summary.perturbations[name]));
}

function cell(measure: string, row: Row | undefined, calm: Row | undefined): HTMLElement {
  if (!row) return h("td", { class: "absent" }, "–");
  const over = row.values["over_slo_ratio"]?.[0] ?? null;
  const cost = row.values[measure]?.[0] ?? null;
  const before = calm?.values[measure]?.[0] ?? null;
  const ratio = cost !== null && before ? cost / before : null;
  return h(
    "td",
    { class: `degree-${Math.max(degree(over), row.met ? 0 : 1)}` },
    h("span", { class: "over" }, row.met ? "" : "✗ ", percent(over)),
    h("span", { class: "ratio" }, row === calm ? `${figure(cost)} core-h` : `cost ×${ratio === null ? "–" : ratio.toFixed(2)}`),
  );
}

/** How bad a share over the SLO is: by decades around the allowed 1 %. */
function degree(over: number | null): number {
  if (over === null) return 0;
  return over <= 0.01 ? 0 : over <= 0.03 ? 1 : over <= 0.1 ? 2 : 3;
}
