// How a scenario is called, and the choice of the one that the charts show.

import { select } from "../base/dom";
import type { Store } from "./state";

/** The name of a scenario; what all scenarios share is left out. */
export function scenarioName(store: Store, index: number): string {
  const scenario = store.summary.scenarios[index];
  if (!scenario) return "";
  const parts = [scenario.app, scenario.workload];
  if (scenario.perturbation !== "none") parts.push(scenario.perturbation);
  if (store.summary.engines.length > 1) parts.push(scenario.engine);
  return parts.join(" · ");
}

/** Chooses the scenario in the charts, among those that pass the filter. */
export function scenarioSelect(store: Store): HTMLElement {
  const choices = store.scenarios().map((i) => ({ value: String(i), text: scenarioName(store, i) }));
  return select("Scenario", choices, String(store.state.scenario), (value) => store.set({ scenario: Number(value) }));
}
