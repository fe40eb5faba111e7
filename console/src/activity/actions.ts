// The actions of audit records in words.
import type { Schema } from "../api/client";
import { href } from "../router";

type Action = Schema<"AuditAction">;

/** What an actor did, as the rest of a sentence that begins with the actor. */
export const did: Record<Action, string> = {
  create: "created", advance: "advanced", cancel: "cancelled", pause: "paused", resume: "resumed", reschedule: "rescheduled", update_batch: "changed the details of", approve: "approved a phase of",
  retry: "retried people of", skip_step: "skipped steps in", mark_done: "marked steps done in", check: "checked people of", add_members: "added people to", remove_member: "removed people from",
  correct_member: "corrected people of", confirm_removals: "confirmed removals from", move_members: "moved people of", discard_removals: "discarded removals from", confirm_additions: "confirmed additions by", discard_additions: "discarded additions by", move_member: "moved people of",
  publish: "published", deactivate: "deactivated", enable_automation: "turned on automation of", disable_automation: "turned off automation of", replay: "replayed", discard: "discarded",
  add_notification: "added", remove_notification: "removed", test_notification: "tested",
  read_members: "read people of", read_steps: "read steps of", read_report: "read the report of", read_removals: "read held removals of", read_additions: "read held additions of", preview_query: "previewed the source of", read_message: "read", read_problems: "read row problems of",
};

export const actionNames = Object.keys(did) as Action[];
export const isRead = (a: Action) => a.startsWith("read_") || a === "preview_query";

/** The object of a record, with the address of its view. */
export function objectOf(r: Schema<"AuditRecord">): { text: string; address?: string } {
  if (r.batchId !== undefined) return { text: `wave ${r.batchId}`, address: href("waves", r.batchId) };
  if (r.runbook !== undefined) return { text: r.runbook, address: href("runbooks", r.runbook) };
  if (r.notification !== undefined) return { text: `notification ${r.notification}`, address: href("notifications", r.notification) };
  return { text: "an unprocessable message", address: r.target ? href("activity", { tab: "messages", status: "replayed", message: r.target }) : undefined };
}
