// The sandbox: one load, one seed, the same faults, and two autoscalers.

import "./style.css";
import { h } from "../base/dom";
import { logo, themeButton } from "../base/header";
import { setTheme } from "../charts/theme";
import { cluster, type Cluster } from "./cluster";
import { controls, type Controls } from "./controls";
import { connect } from "./engine";
import { figures, type Figures } from "./figures";
import type { About, Command, State } from "./protocol";
import { services, type Services } from "./services";

/** Between two steps at least, in ms: often enough for the eye. */
const BEAT = 120;
/** A step simulates what this much real time is worth at most, so that a slow machine falls behind instead of freezing. */
const LONGEST = 300;

const HUES: [number, number] = [1, 0];

interface View {
  controls: Controls;
  sides: [Cluster, Cluster];
  services: Services;
  figures: Figures;
}

setTheme("auto");
const status = h("p", { id: "status", role: "status", class: "status" });
const say = (text: string) => (status.textContent = text);
const about = h("p", { class: "soft about" }, "Two simulated clusters: the same application, load, seed and faults. One is scaled by a rule, one by Loadline.");
const main = h("main", {});
document.body.append(h("header", {}, h("div", { class: "title" }, logo(), h("h1", {}, "Loadline sandbox"), themeButton()), about, status), main);
document.documentElement.dataset["ready"] = "";

const engine = connect(say);
const orders: Command[] = [];
let view: View | undefined;
let run = 0; // of the loop; a restart begins another
void start();

async function start(): Promise<void> {
  const mine = ++run;
  orders.length = 0;
  delete document.documentElement.dataset["running"];
  say("Both clusters run for a quarter of an hour before you see them…");
  const reply = await engine.ask({ open: {} });
  if (mine !== run) return;
  if (reply.error || !reply.about || !reply.state) return fail(reply.error ?? "the engine has not opened a sandbox");
  view = show(reply.about);
  draw(reply.state, 0);
  say("");
  document.documentElement.dataset["running"] = "";
  void loop(mine);
}

function show(a: About): View {
  const titles: [string, string] = [titleOf(a.sides[0]), "Loadline"];
  about.textContent =
    `${a.app} on ${a.node} nodes at ${a.price} ${a.currency} an hour, simulated request by request: the same load, seed ${a.seed} and the same faults on both sides. ` +
    `A bill counts only while at most 1 % of the requests are over their SLO.`;
  const made: View = {
    controls: controls(a, { order, restart: () => void start() }),
    sides: [cluster(a, titles[0], `the rule ${a.sides[0]}`, HUES[0]), cluster(a, titles[1], `${a.sides[1]} behind its guards, as in production`, HUES[1])],
    services: services(a, titles),
    figures: figures(a, titles, HUES),
  };
  document.querySelector(".bar")?.remove();
  main.before(made.controls.element);
  const [left, right] = made.sides;
  main.replaceChildren(
    h("div", { class: "sides" }, left.element, right.element),
    made.figures.element,
    h("div", { class: "sides" }, left.decisions, right.decisions),
    made.services.element,
  );
  return made;
}

/** What people call a rule. */
function titleOf(rule: string): string {
  const name = rule.split(":")[0]!;
  return /^[a-z+]{2,4}$/.test(name) ? name.toUpperCase() : name;
}

function order(command: Command, said: string): void {
  // Of a slider that is dragged only the last place counts.
  const last = orders[orders.length - 1];
  if (last?.do === "load" && command.do === "load") orders.pop();
  orders.push(command);
  if (said) say(said);
}

async function loop(mine: number): Promise<void> {
  let last = performance.now();
  let achieved = 0;
  while (mine === run && view) {
    await pause(BEAT - (performance.now() - last));
    const now = performance.now();
    const real = Math.min(now - last, LONGEST);
    const idle = !view.controls.playing() || document.hidden;
    const seconds = idle ? 0 : (real / 1000) * view.controls.speed();
    const took = now - last;
    last = now;
    if (idle && orders.length === 0) continue;
    const reply = await engine.ask({ step: { seconds: Math.min(seconds, 600), commands: orders.splice(0) } });
    if (mine !== run) return;
    if (reply.error || !reply.state) return fail(reply.error ?? "the engine has not answered");
    if (!idle) achieved = 0.9 * achieved + 0.1 * ((1000 * seconds) / Math.max(took, BEAT));
    draw(reply.state, achieved);
  }
}

function draw(state: State, achieved: number): void {
  if (!view) return;
  view.controls.show(state, achieved);
  state.sides.forEach((side, i) => view!.sides[i]!.show(side));
  view.services.show(state);
  view.figures.add(state);
  if (state.ended) say("The sandbox ends after a simulated week: start again");
}

function fail(text: string): void {
  view?.controls.pause();
  const again = h("button", { type: "button" }, "Start again");
  again.addEventListener("click", () => void start());
  status.replaceChildren(h("span", { role: "alert", class: "hue-mark" }, `Stopped: ${text} `), again);
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, Math.max(0, ms)));
}
