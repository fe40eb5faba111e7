// Records of the audit of one wave.
import { doneHere } from "../activity/actions";
import type { Schema } from "../api/client";
import { Glyph } from "../ui/glyph";
import { Time } from "../ui/time";

export function AuditEntry({ record: r }: { record: Schema<"AuditRecord"> }) {
  const [sign, text] = doneHere(r);
  return (
    <li>
      <span class="quiet"><Time at={r.at} /></span>
      <Glyph sign={sign} />
      <div><b>{r.by}</b> {text}{r.reason && <span class="sub">“{r.reason}”</span>}</div>
    </li>
  );
}
