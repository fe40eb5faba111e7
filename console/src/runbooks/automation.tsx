import type { Schema } from "../api/client";
import { Status } from "../ui/status";

/** Whether a runbook's data source creates its batches, and whether that works. */
export function AutomationState({ runbook: r, grounded }: { runbook: Schema<"Runbook">; grounded?: boolean }) {
  if (r.lastError) return <Status grounded={grounded} look={{ kind: "fail", sign: "fail", word: "Source fails" }} />;
  if (r.batchesHeld || r.peopleHeld) return <Status grounded={grounded} look={{ kind: "warn", sign: "hold", word: "Waits for you" }} />;
  return <Status grounded={grounded} look={r.automationEnabled ? { kind: "done", sign: "done", word: "On" } : { kind: "skip", sign: "due", word: "Off" }} />;
}
