// How the policies learned that were trained for this report.

import type { Chart } from "../charts/chart";
import { figure } from "../charts/format";
import { progress, type Way } from "../charts/progress";
import { h, section } from "../base/dom";
import { highlight, legend } from "./legend";
import type { Look } from "./policies";
import { scenarioName, scenarioSelect } from "./scenarios";
import type { Store } from "./state";

export function learning(store: Store, looks: Look[]): HTMLElement | null {
  const all = store.summary.curves ?? [];
  if (all.length === 0) return null;
  const tools = h("div", { class: "tools" });
  const box = h("div", { class: "chart" });
  const side = h("div", { class: "side" });
  let chart: Chart | undefined;
  const draw = () => {
    const scenario = store.summary.scenarios[store.state.scenario];
    tools.replaceChildren(scenarioSelect(store));
    chart?.destroy();
    chart = undefined;
    side.replaceChildren();
    const shown = all.filter((c) => c.app === scenario?.app && c.workload === scenario.workload && c.steps.length > 0);
    box.classList.toggle("empty", shown.length === 0);
    if (shown.length === 0) return;
    const name = (policy: number) => store.summary.policies[policy]!.label;
    const ways = shown.map((c): Way => ({ name: name(c.policy), steps: c.steps, rewards: c.rewards, ink: looks[c.policy]!.ink, dash: looks[c.policy]!.dash }));
    const list = legend(shown.map((c) => ({ name: name(c.policy), look: looks[c.policy]!, note: `${c.setting}, ${c.models} ${c.models === 1 ? "model" : "models"}` })), (i) => highlight(chart, i));
    const where = h("p", { class: "where", role: "status" });
    side.append(where, list.element);
    const finals = shown.map((c) => figure(c.final[0], 3));
    const show = (steps: number | null, rewards: (number | null)[]) => {
      where.textContent = steps === null ? "On held-out episodes:" : `After ${figure(steps)} steps:`;
      list.show(steps === null ? finals : rewards.map((v) => figure(v, 3)));
    };
    chart = progress({
      box,
      height: 320,
      about: `DRPC’s reward over environment steps, ${scenarioName(store, store.state.scenario)}: ${shown.map((c, i) => `${name(c.policy)} ends at ${finals[i]}`).join("; ")}`,
      ways,
      onCursor: show,
    });
    show(null, []);
  };
  store.listen((changed) => {
    if (["scenario", "app", "workload", "perturbation"].some((key) => changed.has(key as never))) draw();
  });
  queueMicrotask(draw);
  return section("learning", "Learning", "Learning curves of the policies trained for this report: the mean of DRPC’s reward without exploration, over their models. It is the common measure for all of them, whatever their own reward; all had the same number of steps and of tuning trials.", tools, h("div", { class: "with-side" }, box, side));
}
