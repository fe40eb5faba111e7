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

/** How long a phase takes from here on, in milliseconds; undefined if nobody has ended it yet. */
export function timeLeft(p: { dispatchedAt?: string; succeeded: number; failed: number; cancelled: number; running: number; waiting?: number }, perMinute?: number): number | undefined {
  if (!p.dispatchedAt) return undefined;
  const ended = p.succeeded + p.failed + p.cancelled;
  const left = p.running + (p.waiting ?? 0);
  const rate = perMinute ?? ended / Math.max(1 / 60, (Date.now() - Date.parse(p.dispatchedAt)) / 60_000);
  return ended === 0 || rate <= 0 ? undefined : (left / rate) * 60_000;
}
