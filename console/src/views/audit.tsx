// Records of the audit, in words.
import type { Schema } from "../api/client";
import { Glyph, type Sign } from "../ui/glyph";
import { Time } from "../ui/time";

type Record_ = Schema<"AuditRecord">;

const words: Partial<Record<Record_["action"], [Sign, string]>> = {
  create: ["plus", "created the wave"], advance: ["run", "started"], cancel: ["close", "cancelled the wave"], pause: ["pause", "paused the wave"], resume: ["run", "resumed the wave"],
  reschedule: ["wait", "moved the start"], update_batch: ["edit", "changed the details"], approve: ["lock", "approved"], retry: ["retry", "retried"], skip_step: ["skip", "skipped"],
  mark_done: ["done", "marked as done"], check: ["done", "checked"], add_members: ["plus", "added people"], remove_member: ["close", "removed"], correct_member: ["edit", "corrected"],
  confirm_removals: ["hold", "confirmed the removals"], move_members: ["hold", "moved people"], move_member: ["arrow", "moved"], discard_removals: ["hold", "discarded the removals"],
  read_members: ["people", "looked at the people"], read_steps: ["people", "looked at the steps"], read_report: ["download", "read the report"], read_removals: ["people", "looked at held removals"], read_problems: ["people", "looked at the errors"],
};

/** What a record says that an actor did: "retried 12 members". */
export function auditWords(r: Record_): [Sign, string] {
  const [sign, text] = words[r.action] ?? ["due", r.action.replaceAll("_", " ")];
  return [sign, r.target ? `${text} ${r.target}` : text];
}

export function AuditEntry({ record: r }: { record: Record_ }) {
  const [sign, text] = auditWords(r);
  return (
    <li>
      <span class="quiet"><Time at={r.at} /></span>
      <Glyph sign={sign} />
      <div><b>{r.by}</b> {text}{r.reason && <span class="sub">“{r.reason}”</span>}</div>
    </li>
  );
}
