// What runs, what it was judged beside, how it learned, and where it comes from.

import { figure, percent } from "../charts/format";
import { progress, type Way } from "../charts/progress";
import { scatter, type Point, type Scatter, type Spread } from "../charts/scatter";
import { SHAPES } from "../charts/marks";
import type { Chart } from "../charts/chart";
import { colour, hue } from "../charts/theme";
import { h } from "../base/dom";
import { ask, pathOf, Refused } from "./api";
import { card } from "./card";
import type { Candidate, Models } from "./data";
import type { View } from "./view";
import { command, dayAndTime, modeBadge, money, quoted } from "./words";

/** A share of requests over the SLO up to which a cost counts. */
const COUNTS_IF = 0.01;

export function models(of: { namespace: string; name: string }): View {
  const life = new AbortController();
  let drawn: Chart[] = [];
  const element = h("div", { class: "models" }, h("p", { class: "soft" }, "One moment…"));
  const close = () => {
    drawn.forEach((c) => c.destroy());
    drawn = [];
  };
  const show = async (version: number | null) => {
    try {
      const m = await ask<Models>(`${pathOf(of)}/models`, version === null ? {} : { version: String(version) }, life.signal);
      close();
      const shown = version ?? m.pinned ?? m.current ?? 0;
      element.replaceChildren(...[running(of, m), candidates(m, drawn), learning(m, drawn), lineage(of, m, shown || m.current || 0, (v) => void show(v)), about(m)].filter((p): p is HTMLElement => p !== null));
      document.documentElement.dataset["models"] = "";
      if (version !== null) element.querySelector<HTMLElement>(`[data-version="${version}"] button`)?.focus({ preventScroll: true });
    } catch (problem) {
      if (life.signal.aborted) return;
      element.replaceChildren(h("p", { class: "fault", role: "alert" }, problem instanceof Refused ? problem.message : `The page has a fault: ${String(problem)}`));
    }
  };
  void show(null);
  return {
    title: `Models of ${of.name} in ${of.namespace}`,
    element,
    close() {
      life.abort();
      close();
      delete document.documentElement.dataset["models"];
    },
  };
}

function section(id: string, title: string, ...children: (Node | string | null)[]): HTMLElement {
  return h("section", { "aria-labelledby": id }, h("h2", { id }, title), ...children);
}

function running(of: { namespace: string; name: string }, m: Models): HTMLElement {
  const target = `${quoted(of.name)} -n ${quoted(of.namespace)}`;
  const e = m.estimate;
  const rows = e ? [{ ...e.current, note: "runs" }, ...e.others.map((o) => ({ ...o, note: o.name === e.ahead ? "ahead" : "" }))] : [];
  const commands: Node[] = [];
  const offer = (why: string, text: string) => commands.push(h("p", { class: "small soft" }, why), command(text, why));
  if (e?.ahead) offer(`Put ${e.ahead} in charge, which the twin estimates to be better by now${e.in_a_row ? `, ${e.in_a_row} times in a row` : ""}:`, `kubectl loadline promote ${target}`);
  if (m.mode !== "Act") offer("Let what runs act:", `kubectl loadline promote ${target} --mode Act`);
  else offer("Only recommend, and change nothing:", `kubectl loadline promote ${target} --mode Recommend`);
  if (m.previous) offer(`Return to ${m.previous.policy}, mode ${m.previous.mode}:`, `kubectl loadline rollback ${target}`);
  return section(
    "running-title",
    "What runs",
    h("dl", { class: "tiles" }, pair("policy", m.policy ?? "none yet"), pair("mode", modeBadge(m.mode)), pair("comes from", m.source)),
    ...(m.notes ?? []).map((text) => h("p", { class: "soft" }, text)),
    e
      ? h(
          "div",
          { class: "scroll", tabindex: 0, role: "region", "aria-label": "Estimates" },
          h(
            "table",
            { class: "plain" },
            h("caption", { class: "soft small" }, `Under the load of the last hours, ${e.basis}`),
            h("thead", {}, h("tr", {}, ...["deployment", "policy", `${e.currency ?? ""} a month`, "over the SLO", ""].map((t) => h("th", { scope: "col" }, t || h("span", { class: "unseen" }, "standing"))))),
            h("tbody", {}, ...rows.map((r) => h("tr", {}, h("th", { scope: "row" }, r.name), h("td", {}, r.policy ?? "a model"), h("td", {}, `${figure(r.per_month)}${r.error ? ` ± ${percent(r.error)}` : ""}`), h("td", { class: (r.over_slo ?? 0) > COUNTS_IF ? "hue-mark" : "" }, percent(r.over_slo)), h("td", {}, r.note ? h("span", { class: "badge-text calm" }, r.note) : "")))),
          ),
        )
      : null,
    h("div", { class: "commands" }, h("p", { class: "small soft" }, "This page changes nothing. These commands do, with your own rights:"), ...commands),
  );
}

function pair(name: string, value: Node | string): HTMLElement {
  return h("div", {}, h("dt", {}, name), h("dd", {}, value));
}

/** Those that no other of all shown is both cheaper and safer than. */
function front(all: Candidate[]): Set<Candidate> {
  const judged = all.filter((c) => c.role !== "reference" && c.per_month !== null && c.over_slo_ratio !== null);
  return new Set(judged.filter((c) => !judged.some((o) => o !== c && o.per_month! <= c.per_month! && o.over_slo_ratio! <= c.over_slo_ratio! && (o.per_month! < c.per_month! || o.over_slo_ratio! < c.over_slo_ratio!))));
}

const PARTS: Record<string, string> = { test: "test part", selection: "selection" };

function candidates(m: Models, drawn: Chart[]): HTMLElement | null {
  const all = (m.judged?.candidates ?? []).filter((c) => c.per_month !== null && c.over_slo_ratio !== null);
  if (!m.judged || all.length === 0) return null;
  const j = m.judged;
  const element = section("candidates-title", "Candidates", h("p", { class: "soft small about" }, `Cost and share of requests over the SLO on history from ${dayAndTime(j.from)} to ${dayAndTime(j.to)} that none was trained on. Down and left is better; the line is the Pareto front of the test part. Filled markers were judged on it; the others on the part before, for the selection.`));
  const box = h("div", { class: "chart" });
  const rows = new Map<Candidate, HTMLTableRowElement>();
  const ink = (i: number) => () => (all[i]!.promoted ? colour("hue-0") : all[i]!.role === "baseline" ? colour("hue-7") : hue(1 + (i % 6)));
  const fronts = new Set([...front(all.filter((c) => c.on === "test")), ...front(all.filter((c) => c.on !== "test"))]);
  const points = all.map(
    (c, i): Point => ({ name: c.label, x: spread(c.per_month, c.per_month_range), y: spread(c.over_slo_ratio, c.over_slo_range), ink: ink(i), shape: c.role === "baseline" ? "square" : SHAPES[["planner"].includes(c.method ?? "") ? 0 : 2]!, filled: c.on === "test", front: fronts.has(c) && c.on === "test" }),
  );
  let plot: Scatter | null = null;
  const body = h("tbody", {});
  all.forEach((c, i) => {
    const row = h(
      "tr",
      { class: c.promoted ? "promoted" : "" },
      h("th", { scope: "row" }, c.label, c.promoted ? h("span", { class: "badge-text calm" }, "promoted") : null),
      h("td", { class: "method" }, c.role === "baseline" ? (c.policy ?? "rule") : (c.method ?? c.policy ?? "")),
      h("td", {}, PARTS[c.on] ?? c.on),
      h("td", {}, `${figure(c.per_month)}${interval(c.per_month_range, (v) => figure(v))}`),
      h("td", { class: c.over_slo_ratio! > COUNTS_IF ? "hue-mark" : "" }, percent(c.over_slo_ratio)),
      h("td", {}, fronts.has(c) ? "on the front" : ""),
    );
    row.addEventListener("mouseenter", () => plot?.highlight(i));
    row.addEventListener("mouseleave", () => plot?.highlight(null));
    rows.set(c, row);
    body.append(row);
  });
  const table = h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Figures of the candidates" }, h("table", { class: "plain tight" }, h("thead", {}, h("tr", {}, ...["candidate", "method", "figures of", `${j.currency} a month`, "over the SLO", "front"].map((t) => h("th", { scope: "col" }, t)))), body));
  element.append(h("div", { class: "beside" }, box, table));
  queueMicrotask(() => {
    if (!box.isConnected) return;
    plot = scatter({
      box,
      height: 380,
      about: `Cost against share of requests over the SLO: ${all.map((c) => `${c.label} ${money(c.per_month, j.currency)} and ${percent(c.over_slo_ratio)}`).join("; ")}`,
      points,
      limit: COUNTS_IF,
      xLabel: `${j.currency} a month`,
      yLabel: "requests over the SLO",
      onPoint: (i) => rows.forEach((row, c) => row.classList.toggle("near", i !== null && all[i] === c)),
    });
    drawn.push(plot);
  });
  return element;
}

function spread(mean: number | null, [low, high]: [number | null, number | null]): Spread {
  return [mean!, low ?? NaN, high ?? NaN];
}

function interval([low, high]: [number | null, number | null], write: (v: number) => string): string {
  return low === null || high === null ? "" : ` (${write(low)} to ${write(high)})`;
}

function learning(m: Models, drawn: Chart[]): HTMLElement | null {
  const all = m.judged?.curves ?? [];
  const names = [...new Set(all.map((c) => c.candidate))];
  if (names.length === 0) return null;
  const element = section("learning-title", "How they learned", h("p", { class: "soft small about" }, "Reward of the evaluations during training. Rewards of different methods cannot be compared: each has its own."));
  const grid = h("div", { class: "panels" });
  element.append(grid);
  queueMicrotask(() => {
    if (!grid.isConnected) return;
    for (const name of names) {
      const curves = all.filter((c) => c.candidate === name);
      const box = h("div", { class: "panel" });
      const keys = curves.map((c, i) => h("span", { class: "panel-entry" }, h("span", { class: `swatch hue-${i % 8}` }), c.service === "*" ? "all services" : c.service, " ", h("output", {})));
      grid.append(h("div", {}, h("div", { class: "panel-head" }, h("span", { class: "panel-title" }, name), ...keys), box));
      const ways = curves.map((c, i): Way => ({ name: c.service, steps: c.points.map((p) => p.steps), rewards: c.points.map((p) => p.evaluation ?? p.return), ink: () => hue(i) }));
      drawn.push(
        progress({
          box,
          height: 190,
          about: `Reward of ${name} over environment steps: ${ways.map((w) => `${w.name} ends at ${figure(w.rewards[w.rewards.length - 1])}`).join("; ")}`,
          ways,
          yLabel: "reward",
          free: true,
          onCursor: (_, rewards) => keys.forEach((k, i) => (k.querySelector("output")!.textContent = rewards[i] == null ? "" : figure(rewards[i]))),
        }),
      );
    }
  });
  return element;
}

function lineage(of: { namespace: string; name: string }, m: Models, shown: number, onShow: (version: number) => void): HTMLElement | null {
  const versions = [...(m.versions ?? [])].reverse();
  if (versions.length === 0) return null;
  const target = `${quoted(of.name)} -n ${quoted(of.namespace)}`;
  return section(
    "lineage-title",
    "Versions",
    h(
      "ol",
      { class: "lineage" },
      ...versions.map((v) => {
        const runs = v.version === (m.pinned || m.current);
        const show = h("button", { type: "button", class: "quiet", "aria-pressed": String(v.version === shown) }, `Version ${v.version}`);
        show.addEventListener("click", () => onShow(v.version));
        return h(
          "li",
          { "data-version": v.version, class: `${runs ? "current" : ""} ${v.version === shown ? "shown" : ""}` },
          h("div", { class: "version-head" }, show, h("strong", {}, v.candidate), runs ? h("span", { class: "badge-text calm" }, m.pinned ? "pinned" : "current") : null, v.forced ? h("span", { class: "badge-text warn" }, "by force") : null, h("span", { class: "soft small" }, `${dayAndTime(v.at)}${v.former ? `, after version ${v.former}` : ""}`)),
          h("p", { class: "small" }, v.verdict),
          v.policy ? null : h("p", { class: "soft small" }, `Trained on ${v.training.data}${v.training.from && v.training.to ? `, ${dayAndTime(v.training.from)} to ${dayAndTime(v.training.to)}` : ""}, seed ${v.training.seed}${v.training.samples ? `, ${figure(v.training.samples)} steps` : ""}.`),
          runs ? null : command(`kubectl loadline promote ${target} --version ${v.version}`, `put version ${v.version} in charge`),
        );
      }),
    ),
  );
}

function about(m: Models): HTMLElement | null {
  return m.card ? section("card-title", "Model card", card(m.card)) : null;
}
