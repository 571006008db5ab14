// How a scene is called, and the choice of the one that the charts show.

import { select } from "./dom";
import type { Store } from "./state";

/** The name of a scene; what all scenes share is left out. */
export function sceneName(store: Store, index: number): string {
  const scene = store.summary.scenes[index];
  if (!scene) return "";
  const parts = [scene.app, scene.workload];
  if (scene.perturbation !== "none") parts.push(scene.perturbation);
  if (store.summary.engines.length > 1) parts.push(scene.engine);
  return parts.join(" · ");
}

/** Chooses the scene in the charts, among those that pass the filter. */
export function sceneSelect(store: Store): HTMLElement {
  const choices = store.scenes().map((i) => ({ value: String(i), text: sceneName(store, i) }));
  return select("Scene", choices, String(store.state.scene), (value) => store.set({ scene: Number(value) }));
}
