// How policies hold up: the same application and workload under each
// perturbation, policy by policy.

import { figure, percent } from "../charts/format";
import type { Row } from "./data";
import { h, section } from "./dom";
import { badge, type Look } from "./policies";
import type { Store } from "./state";

export function perturbations(store: Store, looks: Look[]): HTMLElement | null {
  if (new Set(store.summary.scenes.map((s) => s.perturbation)).size < 2) return null;
  const box = h("div", {});
  const draw = () => box.replaceChildren(...matrix(store, looks));
  store.listen((changed) => {
    if (changed.has("scene")) draw();
  });
  draw();
  return section("perturbations", "Perturbations", "Share of requests over the SLO under each perturbation, and below it the cost relative to the same policy without perturbation. ✗ marks an SLO violation.", box);
}

function matrix(store: Store, looks: Look[]): HTMLElement[] {
  const { summary } = store;
  const here = summary.scenes[store.state.scene];
  if (!here) return [];
  const scenes = summary.scenes.flatMap((s, i) => (s.app === here.app && s.workload === here.workload && s.engine === here.engine ? [i] : []));
  const title = h("p", { class: "scene-title" }, `${here.app} · ${here.workload}`);
  if (scenes.length < 2) return [title, h("p", { class: "soft" }, "This workload ran without perturbations only.")];
  const columns = scenes.sort((i, j) => Number(summary.scenes[j]!.perturbation === "none") - Number(summary.scenes[i]!.perturbation === "none"));
  const find = (policy: number, scene: number) => summary.rows.find((r) => r.policy === policy && r.scene === scene);
  const policies = [...new Set(columns.flatMap((scene) => store.rowsOf(scene).map((i) => summary.rows[i]!.policy)))];
  const kept = (policy: number) => columns.filter((scene) => find(policy, scene)?.met).length;
  const ran = (policy: number) => columns.filter((scene) => find(policy, scene)).length;
  policies.sort((p, q) => kept(q) - kept(p));
  return [
    title,
    h(
      "div",
      { class: "scroll", tabindex: 0, role: "region", "aria-label": "Policies by perturbation" },
      h(
        "table",
        { class: "matrix" },
        h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Policy"), h("th", { scope: "col" }, "SLO met in"), ...columns.map((scene) => heading(store, scene)))),
        h(
          "tbody",
          {},
          ...policies.map((policy) =>
            h(
              "tr",
              {},
              h("th", { scope: "row" }, h("span", { class: "policy" }, badge(looks[policy]!), h("span", { class: "label" }, summary.policies[policy]!.label))),
              h("td", {}, `${kept(policy)} of ${ran(policy)}`),
              ...columns.map((scene) => cell(find(policy, scene), find(policy, columns[0]!))),
            ),
          ),
        ),
      ),
    ),
  ];
}

function heading(store: Store, scene: number): HTMLElement {
  const name = store.summary.scenes[scene]!.perturbation;
  return h("th", { scope: "col", title: store.summary.perturbations[name] }, name === "none" ? "undisturbed" : name, name !== "none" && h("span", { class: "what" }, store.summary.perturbations[name]));
}

function cell(row: Row | undefined, calm: Row | undefined): HTMLElement {
  if (!row) return h("td", { class: "absent" }, "–");
  const over = row.values["over_slo_ratio"]?.[0] ?? null;
  const cost = row.values["core_hours"]?.[0] ?? null;
  const before = calm?.values["core_hours"]?.[0] ?? null;
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
