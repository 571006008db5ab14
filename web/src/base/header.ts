// What the head of every page has.

import { setTheme, type Theme } from "../charts/theme";
import { h, s } from "./dom";

export function logo(): SVGElement {
  return s("svg", { class: "logo", viewBox: "0 0 32 32", "aria-hidden": "true" }, s("circle", { cx: 16, cy: 16, r: 10 }), s("path", { d: "M2 16h28" }));
}

const THEMES: Theme[] = ["auto", "light", "dark"];

export function themeButton(): HTMLElement {
  let chosen = 0;
  const button = h("button", { type: "button", class: "quiet", id: "theme" }, "Theme: auto");
  button.addEventListener("click", () => {
    chosen = (chosen + 1) % THEMES.length;
    button.textContent = `Theme: ${THEMES[chosen]}`;
    setTheme(THEMES[chosen]!);
  });
  return button;
}
