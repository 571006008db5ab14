// Where the services of a call graph are drawn: in columns, callers to the left of what they call.

import type { Call } from "./data";

export interface Place {
  name: string;
  column: number;
  row: number; // may be a fraction: columns are centred
}

/** Sweeps over the columns, in which each service moves towards its neighbours. */
const SWEEPS = 6;

export function layout(names: string[], calls: Call[]): { places: Map<string, Place>; columns: number; rows: number } {
  const known = new Set(names);
  const out = new Map<string, string[]>(names.map((n) => [n, []]));
  const into = new Map<string, string[]>(names.map((n) => [n, []]));
  for (const c of calls) {
    if (!known.has(c.from) || !known.has(c.to) || c.from === c.to) continue;
    out.get(c.from)!.push(c.to);
    into.get(c.to)!.push(c.from);
  }
  const column = columnsOf(names, out);
  const columns: string[][] = [];
  for (const n of names) (columns[column.get(n)!] ??= []).push(n);
  for (let i = 0; i < columns.length; i++) columns[i] ??= [];
  const at = new Map<string, number>();
  const number = () => columns.forEach((list) => list.forEach((n, i) => at.set(n, i - (list.length - 1) / 2)));
  number();
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    const forward = sweep % 2 === 0;
    const order = forward ? columns : [...columns].reverse();
    for (const list of order) {
      const centre = (n: string) => {
        const near = forward ? into.get(n)! : out.get(n)!;
        return near.length === 0 ? at.get(n)! : near.reduce((sum, m) => sum + at.get(m)!, 0) / near.length;
      };
      const wish = new Map(list.map((n) => [n, centre(n)]));
      list.sort((a, b) => wish.get(a)! - wish.get(b)!);
      number();
    }
  }
  const rows = Math.max(1, ...columns.map((list) => list.length));
  const places = new Map<string, Place>();
  columns.forEach((list, i) => list.forEach((name, j) => places.set(name, { name, column: i, row: (rows - list.length) / 2 + j })));
  return { places, columns: columns.length, rows };
}

/** The longest way from a service that nothing calls. Calls that close a circle do not count. */
function columnsOf(names: string[], out: Map<string, string[]>): Map<string, number> {
  const column = new Map<string, number>();
  const order: string[] = [];
  const state = new Map<string, "open" | "done">();
  const forward = new Map<string, string[]>();
  const visit = (n: string) => {
    state.set(n, "open");
    const real: string[] = [];
    for (const m of out.get(n)!) {
      if (state.get(m) === "open") continue;
      real.push(m);
      if (!state.has(m)) visit(m);
    }
    forward.set(n, real);
    state.set(n, "done");
    order.unshift(n);
  };
  for (const n of names) if (!state.has(n)) visit(n);
  for (const n of order) {
    const here = column.get(n) ?? 0;
    column.set(n, here);
    for (const m of forward.get(n)!) column.set(m, Math.max(column.get(m) ?? 0, here + 1));
  }
  return column;
}
