import type { Schema } from "../api/client";
import type { Counts } from "../ui/bar";

/** The members of a phase by their state. */
export function phaseCounts(p: Schema<"Phase">): Counts {
  return { done: p.succeeded + (p.carried ?? 0), run: p.running, wait: p.waiting, fail: p.failed, skip: p.cancelled };
}

/** The phase that a batch is in: the one that runs, otherwise the last that began. */
export function currentPhase(phases: Schema<"Phase">[]): Schema<"Phase"> | undefined {
  const kept = phases.filter((p) => p.kind === "phase" && p.status !== "superseded");
  return kept.find((p) => p.status === "dispatched") ?? kept.filter((p) => p.dispatchedAt).at(-1) ?? kept[0];
}
