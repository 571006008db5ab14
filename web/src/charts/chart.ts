// What every chart needs around uPlot: it fills its box, follows the theme, can
// be walked by keyboard, and cleans up.

import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { onTheme } from "./theme";

export interface Chart {
  readonly plot: uPlot;
  destroy(): void;
}

export interface Frame {
  /** Where the chart goes. It takes the width of this element. */
  box: HTMLElement;
  height: number;
  /** What the chart is, for screen readers. */
  about: string;
  /** Called when the keyboard or the pointer moves along x. */
  onCursor?: (index: number | null) => void;
}

export function makeChart(frame: Frame, options: Omit<uPlot.Options, "width" | "height">, data: uPlot.AlignedData): Chart {
  const { box, height } = frame;
  const hooks = { ...options.hooks };
  if (frame.onCursor) {
    const tell = frame.onCursor;
    hooks.setCursor = [...(hooks.setCursor ?? []), (u: uPlot) => tell(u.cursor.idx ?? null)];
  }
  const width = () => Math.max(120, Math.floor(box.clientWidth));
  const plot = new uPlot({ ...options, hooks, width: width(), height, legend: { show: false } }, data, box);
  plot.root.setAttribute("role", "img");
  plot.root.setAttribute("aria-label", frame.about);
  plot.root.tabIndex = 0;
  plot.root.addEventListener("keydown", (event) => walk(plot, event));

  // Resizing inside the observer's own callback would loop.
  let pending = 0;
  const observer = new ResizeObserver(() => {
    cancelAnimationFrame(pending);
    pending = requestAnimationFrame(() => {
      if (plot.width !== width()) plot.setSize({ width: width(), height });
    });
  });
  observer.observe(box);
  const forget = onTheme(() => plot.redraw(false, true));
  return {
    plot,
    destroy() {
      cancelAnimationFrame(pending);
      observer.disconnect();
      forget();
      plot.destroy();
    },
  };
}

/** Arrow keys move the cursor from point to point; Escape takes it away. */
function walk(u: uPlot, event: KeyboardEvent): void {
  const xs = u.data[0];
  if (!xs || xs.length === 0) return;
  const step = event.shiftKey ? 10 : 1;
  let index = u.cursor.idx ?? -1;
  switch (event.key) {
    case "ArrowRight":
      index = Math.min(xs.length - 1, index + step);
      break;
    case "ArrowLeft":
      index = index < 0 ? xs.length - 1 : Math.max(0, index - step);
      break;
    case "Home":
      index = 0;
      break;
    case "End":
      index = xs.length - 1;
      break;
    case "Escape":
      u.setCursor({ left: -10, top: -10 });
      return;
    default:
      return;
  }
  event.preventDefault();
  moveCursor(u, xs[index]!);
}

/** Puts the cursor of a chart, and of all that move with it, at a place on x. */
export function moveCursor(u: uPlot, x: number): void {
  // The third argument, which tells the others, is not in uPlot's types.
  const set = u.setCursor as (at: { left: number; top: number }, fire: boolean, tell: boolean) => void;
  set({ left: u.valToPos(x, "x"), top: u.over.clientHeight / 2 }, true, true);
}
