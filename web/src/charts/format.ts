// Numbers and times as people write them.

/** A number with so many significant digits and no needless zeros. */
export function figure(v: number | null | undefined, digits = 3): string {
  if (v === null || v === undefined || !Number.isFinite(v)) return "–";
  if (v === 0) return "0";
  const size = Math.abs(v);
  const decimals = Math.max(0, Math.min(6, digits - 1 - Math.floor(Math.log10(size))));
  const text = size >= 1e6 ? `${trim((v / 1e6).toFixed(2))}M` : size >= 1e5 ? `${Math.round(v / 1e3)}k` : trim(v.toFixed(decimals));
  return text.replace("-", "−");
}

/** Decimals with which a number shows so many significant digits. */
export function decimalsOf(v: number, digits = 3): number {
  return v === 0 ? 0 : Math.max(0, Math.min(4, digits - 1 - Math.floor(Math.log10(Math.abs(v)) + 1e-9)));
}

/** A number with so many decimals, for columns whose points should align. */
export function fixed(v: number, decimals: number): string {
  return v.toFixed(decimals).replace("-", "−");
}

function trim(text: string): string {
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}

/** A share of 1 as a percentage; a little is not nothing. */
export function percent(share: number | null | undefined): string {
  if (share === null || share === undefined || !Number.isFinite(share)) return "–";
  if (share > 0 && share < 0.0001) return "<0.01 %";
  return `${figure(share * 100, share < 0.01 ? 2 : 3)} %`;
}

/** Milliseconds, as seconds where that reads better. */
export function milliseconds(ms: number | null | undefined): string {
  if (ms === null || ms === undefined || !Number.isFinite(ms)) return "–";
  return ms >= 10_000 ? `${figure(ms / 1000)} s` : `${figure(ms)} ms`;
}

/** An instant, in Unix seconds, on the reader's clock: 13:05, or 13:05:30. */
export function timeOfDay(unix: number, withSeconds = false): string {
  const two = (n: number) => String(n).padStart(2, "0");
  const at = new Date(unix * 1000);
  return `${two(at.getHours())}:${two(at.getMinutes())}${withSeconds ? `:${two(at.getSeconds())}` : ""}`;
}

/** Seconds of a run as a clock: 0:05:30, or 13:00 once runs last for hours. */
export function clock(seconds: number, withSeconds = true): string {
  const sign = seconds < 0 ? "−" : "";
  const s = Math.round(Math.abs(seconds));
  const days = Math.floor(s / 86400);
  const two = (n: number) => String(Math.floor(n)).padStart(2, "0");
  const time = `${Math.floor((s % 86400) / 3600)}:${two((s % 3600) / 60)}${withSeconds ? `:${two(s % 60)}` : ""}`;
  return sign + (days > 0 ? `day ${days} ${time}` : time);
}
