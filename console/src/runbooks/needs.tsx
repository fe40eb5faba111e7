import type { ComponentChildren } from "preact";
import type { Schema } from "../api/client";
import { href } from "../router";
import { Glyph, type Sign } from "../ui/glyph";
import { Section } from "../ui/page";
import { plural } from "../ui/text";

/** What must be there for a runbook to work: columns, workers and their functions. */
export function Needs({ outline, workers, functions }: { outline: Schema<"RunbookOutline">; workers: Schema<"Worker">[]; functions: Map<string, Schema<"Function">[]> }) {
  const state = new Map(workers.map((w) => [w.id, w]));
  const away = outline.workers.filter((id) => !["alive", "scaled_to_zero"].includes(state.get(id)?.state ?? "")).filter((id) => !state.has(id) || state.get(id)!.state !== "scaled_to_zero");
  const called = new Map(outline.sections.flatMap((s) => [...s.steps, ...(s.onComplete ?? [])]).filter((p) => !p.functionName.includes("{{")).map((p) => [`${p.workerId}/${p.functionName}`.toLowerCase(), p]));
  const strange = [...called.values()].filter((p) => functions.has(p.workerId) && !functions.get(p.workerId)?.some((f) => f.name.toLowerCase() === p.functionName.toLowerCase()));
  const optional = outline.columns.filter((c) => c.optional).length;
  return (
    <Section id="needs" title="What it needs">
      <ul class="facts-list">
        <Need ok sign="done"><details><summary><b>{plural(outline.columns.length, "column")}</b>{optional > 0 && `, ${optional} of them optional`}{outline.source ? `, from a ${outline.source} source` : ", from an uploaded CSV"}</summary><p class="chips">{outline.columns.map((c) => <code key={c.name}>{c.name}{c.optional && "?"}</code>)}</p></details></Need>
        <Need ok={away.length === 0} sign={away.length === 0 ? "done" : "silent"}>
          <b>{plural(outline.workers.length, "worker")}</b>{outline.workers.length > 0 && ": "}
          {outline.workers.map((id, n) => <>{n > 0 && ", "}{state.has(id) ? <a href={href("workers", id)}>{id}</a> : id}</>)}
          {away.length > 0 && <span class="sub">Not alive: {away.join(", ")}</span>}
        </Need>
        <Need ok={strange.length === 0} sign={strange.length === 0 ? "done" : "warning"}>
          <b>{plural(called.size, "function")}</b>{strange.length === 0 && outline.workers.every((id) => functions.has(id)) ? ", all announced by these workers" : ""}
          {strange.length > 0 && <span class="sub">Not announced: {strange.map((p) => `${p.functionName} by ${p.workerId}`).join(", ")}</span>}
        </Need>
        {outline.quietHours && <Need ok sign="wait">Quiet hours hold phases back</Need>}
      </ul>
    </Section>
  );
}

function Need({ ok, sign, children }: { ok: boolean; sign: Sign; children: ComponentChildren }) {
  return <li><Glyph sign={sign} kind={ok ? (sign === "done" ? "done" : "wait") : "warn"} /><div>{children}</div></li>;
}
