// One decision: what was seen, forecast, chosen and corrected, what was expected, and what then came.

import { figure, percent } from "../charts/format";
import { h } from "../base/dom";
import { ask, pathOf, Refused } from "./api";
import { plain, valueOf, type Change, type Decision, type DecidedService, type Estimate } from "./data";
import { allocation, bytes, cores, money, rate, seconds, setting, when } from "./words";

export async function showDecision(of: { namespace: string; name: string }, c: Change, life: AbortSignal): Promise<void> {
  const body = h("div", { class: "decision-body" }, h("p", { class: "soft" }, "One moment…"));
  const close = h("button", { type: "button", "aria-label": "Close" }, "✕");
  const dialog = h("dialog", { class: "decision", "aria-labelledby": "decision-title" }, h("div", { class: "decision-head" }, h("h2", { id: "decision-title" }, `${c.service}: ${c.from} → ${c.to}`), close), body);
  const end = () => dialog.close();
  close.addEventListener("click", end);
  dialog.addEventListener("click", (event) => event.target === dialog && end());
  dialog.addEventListener("close", () => dialog.remove());
  life.addEventListener("abort", end, { once: true });
  document.body.append(dialog);
  dialog.showModal();
  try {
    const d = await ask<Decision>(`${pathOf(of)}/decision`, { service: c.service, at: c.at }, life);
    body.replaceChildren(...content(d, c));
    body.dataset["done"] = "";
  } catch (problem) {
    if (life.aborted) return;
    body.replaceChildren(h("p", { class: "fault", role: "alert" }, problem instanceof Refused ? problem.message : `The page has a fault: ${String(problem)}`), h("p", {}, c.why ?? ""));
  }
}

type Row = [name: string, value: Node | string | null];

function part(title: string, rows: Row[], ...more: (Node | null)[]): HTMLElement | null {
  const known = rows.filter((r) => r[1] !== null);
  if (known.length === 0 && !more.some(Boolean)) return null;
  return h("section", {}, h("h3", {}, title), known.length > 0 ? h("dl", { class: "pairs" }, ...known.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value)))) : null, ...more);
}

function content(d: Decision, c: Change): Node[] {
  const r = d.decision;
  const s = r.services?.find((one) => one.name === d.service);
  const applied = r.applied ? h("span", {}, "applied ", when(r.applied)) : r.mode === "Act" || !r.mode ? "not applied" : `not applied: mode ${r.mode}`;
  const parts = [
    h("p", { class: "meta soft" }, "Observed ", when(r.at), ", ", applied, `. Policy ${r.policy}${r.rung ? `, rung ${r.rung}` : ""}.`),
    r.error ? h("p", { class: "fault" }, r.error) : null,
    s ? seen(s, d) : null,
    s ? forecast(s) : null,
    s ? chosen(s) : null,
    s ? guards(s) : null,
    s ? expected(s) : null,
    came(d, s, c),
    h("details", {}, h("summary", {}, "In a sentence"), h("p", { class: "small" }, d.text)),
  ];
  return parts.filter((p): p is HTMLElement => p !== null);
}

function seen(s: DecidedService, d: Decision): HTMLElement | null {
  const o = s.seen;
  const v = (sample: Parameters<typeof valueOf>[0], write: (x: number) => string): string | null => {
    const x = valueOf(sample);
    return x === null ? null : `${write(x)}${sample![1] >= 60 ? `, ${figure(sample![1], 2)} s old` : ""}`;
  };
  const ready = o.pods?.filter((p) => p.phase === "ready").length;
  const use = valueOf(o.cpu);
  const request = s.told.size.cpu_request * (ready ?? s.told.replicas);
  const kind = d.decision.kinds?.find((k) => k.name === s.outlook?.users?.kind) ?? d.decision.kinds?.[0];
  return part("Seen", [
    ["load", v(o.rate, rate)],
    ["CPU", use === null ? null : `${cores(use)}${request > 0 ? `, ${percent(use / request)} of the request` : ""}`],
    ["memory", v(o.memory, bytes)],
    ["throttled", v(o.throttled, percent)],
    ["p99 of a visit", v(o.latency_s?.p99, seconds)],
    ["replicas ready", ready === undefined ? null : `${ready} of ${s.told.replicas}`],
    ["size", `${allocation(s.told)}, ${bytes(s.told.size.memory_request)}`],
    [`users of ${kind?.name ?? ""}`, kind && valueOf(kind.at_slo_s) !== null ? seconds(valueOf(kind.at_slo_s)) : null],
  ]);
}

function forecast(s: DecidedService): HTMLElement | null {
  const expects = s.proposal?.expects;
  const rows: Row[] = [];
  if (expects && plain(expects.rate) !== null) rows.push(["planned for", `${rate(plain(expects.rate))} within ${figure(expects.within_s, 2)} s`]);
  const f = s.forecast;
  if (f) {
    const at = [...new Set([0, Math.floor(f.median.length / 2), f.median.length - 1])].filter((i) => i >= 0);
    for (const i of at) {
      const high = plain(f.high?.[i]);
      rows.push([`in ${figure(((i + 1) * f.step_s) / 60, 2)} min`, `${rate(plain(f.median[i]))}${high === null ? "" : `, upper quantile ${rate(high)}`}`]);
    }
  }
  return part("Forecast", rows);
}

function chosen(s: DecidedService): HTMLElement | null {
  const p = s.proposal;
  if (!p) return part("Chosen", [["policy", "proposed nothing for this service"]]);
  return part("Chosen", [
    ["the policy asked for", setting(p.setting)],
    ["because", p.reason ?? null],
    ["runner-up", p.runner_up ? `${setting(p.runner_up.setting)}${p.runner_up.reason ? `: ${p.runner_up.reason}` : ""}` : null],
  ]);
}

function guards(s: DecidedService): HTMLElement | null {
  const list = s.guards ?? [];
  const steps = list.map((g) => h("li", {}, h("strong", {}, g.name), `: ${setting(g.from)} → ${setting(g.to)}`, g.reason ? h("span", { class: "soft" }, ` ${g.reason}`) : null));
  return part("Guards", list.length === 0 ? [["result", "allowed as it is"]] : [["left to change", setting(s.plan)]], steps.length > 0 ? h("ol", { class: "steps" }, ...steps) : null);
}

function expected(s: DecidedService): HTMLElement | null {
  const o = s.outlook;
  if (!o) return null;
  const cell = (text: string) => h("td", {}, text);
  const row = (name: string, e: Estimate) =>
    h("tr", {}, h("th", { scope: "row" }, name), cell(allocation(e.allocation)), cell(rate(plain(e.capacity))), cell(e.latency_s === undefined ? "no steady state" : seconds(e.latency_s)), cell(money(plain(e.per_hour), o.currency)));
  const col = (text: string) => h("th", { scope: "col" }, text);
  const users = o.users;
  return part(
    "Expected, by the twin",
    [
      ["for", `${rate(plain(o.load))}${o.ahead_s ? ` within ${figure(o.ahead_s, 2)} s` : ", as observed"}`],
      ["part of the SLO", `p${o.part.percentile} of a visit within ${seconds(o.part.latency_s)}`],
      ["users then", users ? `p${users.percentile} of ${users.kind} ${seconds(users.latency_s)}${plain(users.over_slo) === null ? "" : `, ${percent(plain(users.over_slo))} of the SLO`}` : null],
    ],
    h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Expected" }, h("table", { class: "expected" }, h("thead", {}, h("tr", {}, h("td", {}), col("size"), col("capacity"), col(`p${o.part.percentile}`), col("an hour"))), h("tbody", {}, row("before", o.before), row("chosen", o.planned), row("runner-up", o.runner_up)))),
  );
}

function came(d: Decision, s: DecidedService | undefined, c: Change): HTMLElement | null {
  const t = d.then;
  if (!t) return part("What then came", [["measured", c.applied ? "not yet a whole minute, or no longer in memory" : "it was not applied"]]);
  const than = (was: number | null | undefined, write: (v: number) => string) => (was === null || was === undefined ? "" : `, expected ${write(was)}`);
  const planned = s?.outlook?.planned;
  return part("What then came", [
    ["measured", h("span", {}, when(t.from, false), " to ", when(t.until, false))],
    ["highest load", t.rate === undefined ? null : `${rate(t.rate)}${than(plain(s?.outlook?.load), rate)}`],
    ["highest p99 of a visit", t.p99_s === undefined ? null : seconds(t.p99_s)],
    ["throttled at most", t.throttled === undefined ? null : percent(t.throttled)],
    ["replicas ready at the end", t.replicas_ready === undefined ? null : `${t.replicas_ready}${planned ? `, planned ${planned.allocation.replicas}` : ""}`],
    ["requests over the SLO", t.over_slo === undefined ? null : percent(t.over_slo)],
    ["application’s cost", t.per_hour === undefined ? null : `${money(t.per_hour, s?.outlook?.currency ?? "")} an hour`],
  ]);
}
