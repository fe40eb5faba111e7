import type { Schema } from "../api/client";
import { localTimes } from "../ui/text";
import { Glyph, type Sign } from "../ui/glyph";

const signs: Partial<Record<Schema<"WaitingReason">["code"], Sign>> = {
  paused: "pause", gate: "lock", removals_held: "hold", throttled: "hourglass", worker_silent: "silent",
};

/** Whether a person has to do something about it. */
export const needsPerson = (code: Schema<"WaitingReason">["code"]) => code in signs;

export function WaitingReason({ reason: r }: { reason: Schema<"WaitingReason"> }) {
  return <span class={`status ${needsPerson(r.code) ? "k-warn" : "k-wait"}`}><Glyph sign={signs[r.code] ?? "wait"} /><span class="wrap">{localTimes(r.reason)}</span></span>;
}
