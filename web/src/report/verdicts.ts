// Who wins where, in a sentence each.

import { h, section } from "../base/dom";
import { badge, type Look } from "./policies";
import { scenarioName } from "./scenarios";
import type { Store } from "./state";

export function verdicts(store: Store, looks: Look[]): HTMLElement {
  const list = h("div", { class: "cards" });
  const draw = () => list.replaceChildren(...store.scenarios().map((scenario) => card(store, looks, scenario)));
  store.listen((changed) => {
    if (["app", "workload", "perturbation", "scenario"].some((key) => changed.has(key as never))) draw();
  });
  draw();
  return section("verdicts", "Verdict", "The cheapest policy that meets the SLO, for each scenario. Select one to show it in the charts below.", list);
}

function card(store: Store, looks: Look[], scenario: number): HTMLElement {
  const verdict = store.summary.verdicts[scenario]!;
  const winner = store.summary.rows[verdict.winner];
  const chosen = store.state.scenario === scenario;
  return h(
    "button",
    { type: "button", class: `card${chosen ? " chosen" : ""}`, "aria-pressed": String(chosen), onclick: () => store.set({ scenario }) },
    h("span", { class: "card-head" }, scenarioName(store, scenario), winner ? badge(looks[winner.policy]!) : h("span", { class: "undecided" }, "undecided")),
    h("span", { class: "sentence" }, ...emphasised(verdict.sentence, winner ? store.summary.policies[winner.policy]!.label : "")),
    ...verdict.notes.map((note) => h("span", { class: "note" }, note)),
  );
}

/** The sentence, with its first mention of the winner in bold. */
function emphasised(sentence: string, label: string): (string | HTMLElement)[] {
  const at = label ? sentence.indexOf(label) : -1;
  if (at < 0) return [sentence];
  return [sentence.slice(0, at), h("strong", {}, label), sentence.slice(at + label.length)];
}
