// The phases of a runbook from top to bottom, with what holds them back and where a failure leads.
import type { Schema } from "../api/client";
import { Glyph } from "../ui/glyph";

type Section = Schema<"OutlineSection">;
type Step = Schema<"OutlineStep">;

interface Props {
  outline: Schema<"RunbookOutline">;
  findings: Schema<"Diagnostic">[];
  onLine(line: number): void;
}

const notes: Partial<Record<Section["kind"], string>> = { checks: "for each person, before", init: "once a wave", removal: "when a person is removed" };

export function Graph({ outline, findings, onLine }: Props) {
  const main = outline.sections.filter((s) => s.kind !== "rollback" && s.kind !== "removal");
  const rollbacks = new Map(outline.sections.filter((s) => s.kind === "rollback").map((s) => [s.name, s]));
  const removal = outline.sections.find((s) => s.kind === "removal");
  // A finding belongs to the last step or section that begins at its line or before.
  const begins = outline.sections.flatMap((s) => [s.line ?? 0, ...s.steps.map((p) => p.line ?? 0), ...(s.onComplete ?? []).map((p) => p.line ?? 0)]).sort((a, b) => a - b);
  const worst = new Map<number, "error" | "warning">();
  for (const f of findings) {
    const at = begins.filter((l) => l > 0 && l <= f.line).at(-1);
    if (at !== undefined && worst.get(at) !== "error") worst.set(at, f.severity);
  }
  const shown = new Set<string>();
  const parts = { worst, onLine };
  return (
    <ol class="graph">
      {main.map((s, n) => {
        const gate = gateText(s, main[n - 1]);
        const failures = [...new Set(s.steps.map((p) => p.onFailure).filter((name) => name !== undefined))];
        return (
          <li key={`${s.kind}/${s.name}/${n}`}>
            {gate && <p class="graph-gate"><Glyph sign="lock" kind="warn" />{gate}</p>}
            <div class="graph-row">
              <Box section={s} {...parts} />
              {failures.length > 0 && (
                <div class="graph-failures">
                  {failures.map((name) => {
                    const rollback = rollbacks.get(name!);
                    const again = shown.has(name!);
                    shown.add(name!);
                    return rollback && !again ? <Box key={name} section={rollback} {...parts} /> : <p key={name} class={`graph-box graph-other ${rollback ? "" : "k-fail"}`}><Glyph sign="undo" />{name}{!rollback && " does not exist"}</p>;
                  })}
                </div>
              )}
            </div>
          </li>
        );
      })}
      {removal && <li class="graph-apart"><Box section={removal} {...parts} /></li>}
    </ol>
  );
}

function gateText(s: Section, before: Section | undefined): string {
  const parts = [
    s.approvalRequired && (s.secondApprover ? "Approval by a second person" : "Approval"),
    s.requireSuccess && `${s.requireSuccess}% of ${before?.name ?? "the phase before"}`,
  ].filter(Boolean);
  return parts.join(", ");
}

function Box({ section: s, worst, onLine }: { section: Section; worst: Map<number, "error" | "warning">; onLine(line: number): void }) {
  const rollback = s.kind === "rollback";
  return (
    <div class={`graph-box ${rollback ? "graph-rollback" : ""}`}>
      <button type="button" class="graph-title" onClick={() => s.line && onLine(s.line)}>
        {rollback && <Glyph sign="undo" kind="warn" />}<b>{s.name}</b> <span class="quiet">{s.offset ?? (rollback ? "undo" : notes[s.kind])}</span>
        {s.line !== undefined && worst.has(s.line) && <Mark of={worst.get(s.line)!} />}
      </button>
      {s.when && <p class="graph-when">when <code>{s.when}</code></p>}
      <Steps steps={s.steps} worst={worst} onLine={onLine} />
      {s.onComplete && s.onComplete.length > 0 && <><p class="graph-when">then once for the wave</p><Steps steps={s.onComplete} worst={worst} onLine={onLine} /></>}
      {s.stopWhen && <p class="graph-when">pauses the wave when {s.stopWhen} failed</p>}
    </div>
  );
}

function Steps({ steps, worst, onLine }: { steps: Step[]; worst: Map<number, "error" | "warning">; onLine(line: number): void }) {
  return (
    <ul>
      {steps.map((p, n) => {
        const finding = p.line === undefined ? undefined : worst.get(p.line);
        return (
          <li key={n}>
            <button type="button" title={`${p.functionName} at ${p.workerId}`} onClick={() => p.line && onLine(p.line)}>
              {finding ? <Mark of={finding} /> : <i class="graph-dot" aria-hidden="true" />}
              <span class="graph-name">{p.name}</span>
              {p.polls && <span class="graph-polls" title="Repeats until it is complete"><Glyph sign="retry" /><span class="visually-hidden">repeats until it is complete</span></span>}
              {p.when && <span class="quiet" title={p.when}>if</span>}
              <span class="quiet graph-worker">{p.workerId}</span>
            </button>
          </li>
        );
      })}
    </ul>
  );
}

function Mark({ of }: { of: "error" | "warning" }) {
  return <><Glyph sign={of === "error" ? "fail" : "warning"} kind={of === "error" ? "fail" : "warn"} /><span class="visually-hidden">{of}</span></>;
}
