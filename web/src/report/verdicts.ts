// Who wins where, in a sentence each.

import { h, section } from "./dom";
import { badge, type Look } from "./policies";
import { sceneName } from "./scenes";
import type { Store } from "./state";

export function verdicts(store: Store, looks: Look[]): HTMLElement {
  const list = h("div", { class: "cards" });
  const draw = () => list.replaceChildren(...store.scenes().map((scene) => card(store, looks, scene)));
  store.listen((changed) => {
    if (["app", "workload", "perturbation", "scene"].some((key) => changed.has(key as never))) draw();
  });
  draw();
  return section("verdicts", "Verdict", "The cheapest policy that meets the SLO, for each scene. Select one to show it in the charts below.", list);
}

function card(store: Store, looks: Look[], scene: number): HTMLElement {
  const verdict = store.summary.verdicts[scene]!;
  const winner = store.summary.rows[verdict.winner];
  const chosen = store.state.scene === scene;
  return h(
    "button",
    { type: "button", class: `card${chosen ? " chosen" : ""}`, "aria-pressed": String(chosen), onclick: () => store.set({ scene }) },
    h("span", { class: "card-head" }, sceneName(store, scene), winner ? badge(looks[winner.policy]!) : h("span", { class: "undecided" }, "undecided")),
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
