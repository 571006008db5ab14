// What the reader has chosen. It lives in the address, so that a link shows what
// its sender saw.

import type { Summary } from "./data";

export interface State {
  app: string; // "" = all
  workload: string;
  perturbation: string;
  scenario: number; // the one in the charts
  kind: string; // of requests, in the distribution
  left: number; // ids of the runs shown; -1 = none
  right: number;
  difference: boolean; // the table shows differences to the baseline
  everything: boolean; // the table shows every measure
  sort: string;
  falling: boolean;
}

export type Change = Partial<State>;

export class Store {
  readonly state: State;
  private readonly listeners: ((changed: Set<keyof State>) => void)[] = [];

  constructor(readonly summary: Summary) {
    this.state = { ...defaults(summary), ...fromAddress(summary) };
    this.settle();
  }

  listen(listener: (changed: Set<keyof State>) => void): void {
    this.listeners.push(listener);
  }

  set(change: Change): void {
    const before = { ...this.state };
    Object.assign(this.state, change);
    this.settle();
    const changed = new Set((Object.keys(before) as (keyof State)[]).filter((key) => before[key] !== this.state[key]));
    if (changed.size === 0) return;
    toAddress(this.state, defaults(this.summary));
    for (const listener of this.listeners) listener(changed);
  }

  /** Scenarios that pass the filter. */
  scenarios(): number[] {
    const { app, workload, perturbation } = this.state;
    return this.summary.scenarios.flatMap((s, i) => {
      const passes = (!app || s.app === app) && (!workload || s.workload === workload) && (!perturbation || s.perturbation === perturbation);
      return passes ? [i] : [];
    });
  }

  rowsOf(scenario: number): number[] {
    return this.summary.rows.flatMap((r, i) => (r.scenario === scenario ? [i] : []));
  }

  // Choices depend on each other: the charts show a scenario that passes the
  // filter, and the stories are of that scenario.
  private settle(): void {
    const scenarios = this.scenarios();
    if (!scenarios.includes(this.state.scenario)) this.state.scenario = scenarios[0] ?? -1;
    const { scenario } = this.state;
    if (scenario < 0) return;
    const kinds = this.summary.scenarios[scenario]!.kinds ?? [];
    if (!kinds.some((k) => k.name === this.state.kind)) this.state.kind = kinds[0]?.name ?? "";
    const rows = this.rowsOf(scenario);
    const runs = rows.flatMap((i) => (this.summary.rows[i]!.runs ?? []).map((r) => r.id));
    if (!runs.includes(this.state.left)) this.state.left = this.firstRun(this.baselineRow(rows)) ?? runs[0] ?? -1;
    if (this.state.right >= 0 && !runs.includes(this.state.right)) this.state.right = this.firstRun(this.rivalRow(scenario, rows)) ?? -1;
  }

  private firstRun(row: number | undefined): number | undefined {
    return row === undefined ? undefined : this.summary.rows[row]?.runs?.[0]?.id;
  }

  private baselineRow(rows: number[]): number | undefined {
    const { rows: all, policies, baseline } = this.summary;
    return rows.find((i) => policies[all[i]!.policy]!.label === baseline) ?? rows[0];
  }

  /** Who is worth seeing beside the baseline: the winner, or the next best. */
  private rivalRow(scenario: number, rows: number[]): number | undefined {
    const { rows: all, policies, verdicts } = this.summary;
    const base = this.baselineRow(rows);
    const winner = verdicts[scenario]?.winner ?? -1;
    if (winner >= 0 && winner !== base) return winner;
    const cost = (i: number) => all[i]!.values[this.summary.cost]?.[0] ?? Infinity;
    const others = rows.filter((i) => i !== base && !policies[all[i]!.policy]!.reference);
    return others.sort((i, j) => Number(all[j]!.met) - Number(all[i]!.met) || cost(i) - cost(j))[0];
  }
}

/** Where the report opens: undisturbed runs, all applications. */
function defaults(summary: Summary): State {
  const calm = summary.scenarios.some((s) => s.perturbation === "none");
  return {
    app: "",
    workload: "",
    perturbation: calm ? "none" : "",
    scenario: -1,
    kind: "",
    left: -1,
    right: Number.MAX_SAFE_INTEGER, // settles on a run; -1 = no second story
    difference: false,
    everything: false,
    sort: summary.cost,
    falling: false,
  };
}

function fromAddress(summary: Summary): Change {
  const given = new URLSearchParams(location.hash.slice(1));
  const base = defaults(summary);
  const change: Record<string, unknown> = {};
  for (const [key, value] of given) {
    if (!(key in base)) continue;
    const kind = typeof base[key as keyof State];
    change[key] = kind === "number" ? Number(value) : kind === "boolean" ? value === "1" : value;
  }
  return change as Change;
}

function toAddress(state: State, base: State): void {
  const given = new URLSearchParams();
  for (const [key, value] of Object.entries(state)) {
    if (value !== base[key as keyof State]) given.set(key, typeof value === "boolean" ? (value ? "1" : "0") : String(value));
  }
  history.replaceState(null, "", `#${given.toString()}`);
}
