// Colours live in the style sheet, so that light and dark are decided in one
// place; a canvas has to ask for them.

/** The value of a colour of the style sheet. */
export function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

/** How many hues there are: beyond these, lines differ by their dashes. */
export const HUES = 8;

export function hue(index: number): string {
  return colour(`hue-${index % HUES}`);
}

const listeners = new Set<() => void>();

/** Calls back when light turns dark or back, until the result is called. */
export function onTheme(callback: () => void): () => void {
  listeners.add(callback);
  return () => listeners.delete(callback);
}

export type Theme = "auto" | "light" | "dark";
let chosen: Theme = "auto";
const system = matchMedia("(prefers-color-scheme: dark)");

/** Sets the colours; auto follows the system. */
export function setTheme(theme: Theme): void {
  chosen = theme;
  const dark = theme === "dark" || (theme === "auto" && system.matches);
  document.documentElement.dataset["theme"] = dark ? "dark" : "light";
  for (const callback of listeners) callback();
}

system.addEventListener("change", () => setTheme(chosen));
