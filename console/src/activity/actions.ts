// The actions of audit records in words.
import type { Schema } from "../api/client";
import { href } from "../router";
import type { Sign } from "../ui/glyph";

type Action = Schema<"AuditAction">;

/**
 * What an actor did, as the rest of a sentence that begins with the actor: a glyph, the action, and the word before
 * its object. Braces are round the part of the object that the action is about, which the target of a record names
 * more exactly.
 */
const did: Record<Action, [sign: Sign, action: string, before?: string]> = {
  create: ["plus", "created"], advance: ["run", "started {a phase}", "of"], cancel: ["close", "cancelled"], pause: ["pause", "paused"], resume: ["run", "resumed"], reschedule: ["wait", "rescheduled"],
  update_batch: ["edit", "changed the details", "of"], approve: ["lock", "approved {a phase}", "of"], retry: ["retry", "retried {people}", "of"], skip_step: ["skip", "skipped {steps}", "in"],
  mark_done: ["done", "marked {steps} done", "in"], check: ["done", "checked {people}", "of"], add_members: ["plus", "added {people}", "to"], remove_member: ["close", "removed {people}", "from"],
  correct_member: ["edit", "corrected {people}", "of"], move_member: ["arrow", "moved {people}", "of"], move_members: ["arrow", "moved {people}", "of"], confirm_removals: ["hold", "confirmed removals", "from"],
  discard_removals: ["hold", "discarded removals", "from"], confirm_additions: ["hold", "confirmed additions", "by"], discard_additions: ["hold", "discarded additions", "by"],
  publish: ["upload", "published"], deactivate: ["pause", "deactivated"], enable_automation: ["run", "turned on automation", "of"], disable_automation: ["pause", "turned off automation", "of"], set_routing: ["arrow", "changed the routing", "of"],
  replay: ["retry", "replayed"], discard: ["skip", "discarded"], add_notification: ["plus", "added"], remove_notification: ["close", "removed"], test_notification: ["done", "tested"],
  read_members: ["people", "read {people}", "of"], read_steps: ["people", "read {steps}", "of"], read_report: ["download", "read the report", "of"], read_removals: ["people", "read held removals", "of"],
  read_additions: ["people", "read held additions", "of"], preview_query: ["source", "previewed the source", "of"], read_message: ["people", "read"], read_problems: ["people", "read row problems", "of"],
};

/** An action of a newer API than this page has its name for words. */
const actionOf = (a: Action): [Sign, string, string?] => did[a] ?? ["due", a.replaceAll("_", " ")];

/** What a record says that the actor did to its object: "retried people of wave 1". */
export function doneTo(r: Schema<"AuditRecord">): string {
  const [, action, before] = actionOf(r.action);
  return [action.replace(/[{}]/g, ""), before, objectOf(r).text].filter(Boolean).join(" ");
}

/** The same where the wave is known, with its glyph: "retried 12 members", "paused the wave". */
export function doneHere(r: Schema<"AuditRecord">): [Sign, string] {
  const [sign, action, before] = actionOf(r.action);
  if (action.includes("{")) return [sign, action.replace(/\{(.*)\}/, (_, part: string) => r.target || part)];
  return [sign, [action, before ?? "", "the wave", r.target].filter(Boolean).join(" ")];
}

export const actionNames = Object.keys(did) as Action[];
export const isRead = (a: Action) => a.startsWith("read_") || a === "preview_query";

/** The object of a record, with the address of its view. */
export function objectOf(r: Schema<"AuditRecord">): { text: string; address?: string } {
  if (r.batchId !== undefined) return { text: `wave ${r.batchId}`, address: href("waves", r.batchId) };
  if (r.runbook !== undefined) return { text: r.runbook, address: href("runbooks", r.runbook) };
  if (r.notification !== undefined) return { text: `notification ${r.notification}`, address: href("notifications", r.notification) };
  return { text: "an unprocessable message", address: r.target ? href("activity", { tab: "messages", status: "replayed", message: r.target }) : undefined };
}
