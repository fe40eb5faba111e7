// The report of a rehearsal. The browser reads the file; nothing is sent.
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { Glyph } from "../ui/glyph";
import { Head, Section } from "../ui/page";
import { duration, people, plural, sentence, value } from "../ui/text";
import { Time } from "../ui/time";
import { readReport, type Change, type ErrorGroup, type Report } from "./report";

export function Rehearsal() {
  const [report, setReport] = useState<Report>();
  const [name, setName] = useState("");
  const [error, setError] = useState<unknown>();
  const open = async (input: HTMLInputElement) => {
    const file = input.files?.[0];
    if (!file) return;
    input.value = ""; // so that the same file can be opened again
    setName(file.name);
    setReport(undefined);
    setError(undefined);
    try {
      setReport(readReport(await file.text()));
    } catch (e) {
      setError(e);
    }
  };
  return (
    <>
      <Head title="Rehearsal" sub="The report of matoolkit rehearse --json. Your browser reads the file: nothing is sent, and nothing is kept."
        actions={<label class="button file-button"><Glyph sign="upload" />{report ? "Open another report…" : "Open a report…"}<input type="file" accept=".json,application/json" aria-label="Report of a rehearsal as JSON" onChange={(e) => void open(e.currentTarget)} /></label>} />
      {error !== undefined && <Refused name={name} error={error} />}
      {report && <Shown report={report} name={name} />}
      {!report && error === undefined && <p class="empty">No report is open.</p>}
    </>
  );
}

function Refused({ name, error }: { name: string; error: unknown }) {
  return <div class="notice fail" role="alert"><Glyph sign="fail" /><span class="wrap"><b>{name}</b> {error instanceof Error ? error.message : String(error)}</span></div>;
}

function Shown({ report: r, name }: { report: Report; name: string }) {
  return (
    <div role="region" aria-label={name}>
      <p class="simulate-head">
        <b>{r.runbook}</b> <span class="quiet">cut-over (T-0) <Time at={r.start} as="full" utc />, {people(r.memberCount)}: {r.succeeded.toLocaleString()} succeed, {r.failed.toLocaleString()} fail</span>
        {r.complete ? <span class="status k-done grounded"><Glyph sign="done" />All succeed</span> : <span class="status k-fail grounded"><Glyph sign="fail" />{r.failed > 0 ? `${people(r.failed)} fail` : "It does not end"}</span>}
      </p>
      {r.tenants.map((t) => <p key={t.name} class="quiet">The copy of {t.name}: {plural(t.users, "user")}, {plural(t.groups, "group")}, {plural(t.recipients, "recipient")}{t.takenAt && <>, as of <Time at={t.takenAt} as="full" /></>}.</p>)}
      <Groups id="errors" title="Who fails, and why" groups={r.errors} kind="fail" none="Nobody fails." />
      <Groups id="warnings" title="Warnings" groups={r.warnings} kind="warn" none="No check warns." />
      <Calendar report={r} />
      <Licenses report={r} />
      <Calls report={r} />
      {r.removal && <WayBack removal={r.removal} />}
      <Section id="not-rehearsed" title="Not rehearsed" count={r.notRehearsed.length}>
        {r.notRehearsed.length === 0 && <p class="empty">Each function was carried out.</p>}
        <ul class="plain-list">{r.notRehearsed.map((n) => <li key={n.functionName}>{n.functionName} ({plural(n.calls, "call")}): {n.why}</li>)}</ul>
      </Section>
      <Section id="not-modelled" title="Not modelled" count={r.notModelled.length} note="What the copies do not have, and your runbook can meet">
        <ul class="plain-list">
          {r.notModelled.map((n) => (
            <li key={n.behaviour}>
              {n.behaviour} {n.observed?.map((o) => <span key={o.batchId} class="quiet">In wave {o.batchId}: {o.what}. </span>)}
              {n.functions.length > 0 && <span class="quiet">{n.functions.join(", ")}</span>}
            </li>
          ))}
        </ul>
      </Section>
      {r.notes.length > 0 && <Section id="notes" title="Notes" count={r.notes.length}><ul class="plain-list">{r.notes.map((n) => <li key={n}>{sentence(n)}</li>)}</ul></Section>}
      <Section id="changes" title="Before and after" count={r.changes.length}><Changes changes={r.changes} /></Section>
    </div>
  );
}

/** A table that scrolls by itself, and has its rows as cards on a narrow screen. */
function Table({ name, head, rows }: { name: string; head: string[]; rows: { key: string; cells: ComponentChildren[] }[] }) {
  return (
    <div class="grid-scroll" tabIndex={0} role="region" aria-label={`Table: ${name}`}>
      <table class="cards">
        <thead><tr>{head.map((h) => <th key={h}>{h}</th>)}</tr></thead>
        <tbody>{rows.map((r) => <tr key={r.key}>{r.cells.map((c, i) => <td key={i} data-label={head[i]}>{c}</td>)}</tr>)}</tbody>
      </table>
    </div>
  );
}

function Groups({ id, title, groups, kind, none }: { id: string; title: string; groups: ErrorGroup[]; kind: "fail" | "warn"; none: string }) {
  const members = groups.reduce((sum, g) => sum + g.members.length, 0);
  return (
    <Section id={id} title={title} count={members} kind={members > 0 ? kind : ""}>
      {groups.length === 0 ? <p class="empty">{none}</p> : <GroupTable name={title} groups={groups} />}
    </Section>
  );
}

function GroupTable({ name, groups }: { name: string; groups: ErrorGroup[] }) {
  return (
    <Table name={name} head={["People", "Where", "Error"]} rows={groups.map((g) => ({
      key: [g.phase, g.rollback, g.step, g.error].join("\n"),
      cells: [
        g.members.length.toLocaleString(),
        <>{g.phase}{g.rollback && ` (${g.rollback})`}, {g.step}<span class="sub">{g.functionName}</span></>,
        <>{g.error}<span class="sub">{g.members.slice(0, 3).map((m) => m.key || "the wave").join(", ")}{g.members.length > 3 && ` and ${plural(g.members.length - 3, "other")}`}</span><details hidden={g.members.length === 1}><summary>Who</summary><ul class="plain-list">{g.members.map((m) => <li key={m.key}>{m.key || "the wave"}{m.error !== g.error && `: ${m.error}`}</li>)}</ul></details></>,
      ],
    }))} />
  );
}

function Calendar({ report: r }: { report: Report }) {
  const at = (t?: string) => (t ? <Time at={t} as="full" /> : "–");
  const many = new Set(r.phases.map((p) => p.batchId)).size > 1;
  return (
    <Section id="calendar" title="Calendar and predicted duration" note={`With ${plural(r.assumptions.parallelism, "job")} of a worker at once, ${r.assumptions.graphSeconds} s for a request of Graph, ${r.assumptions.exchangeSeconds} s for a command of Exchange Online and ${duration(r.assumptions.copySeconds * 1000)} for a copy of a mailbox`}>
      <Table name="Calendar" head={[...(many ? ["Wave"] : []), "Phase", "Offset", "Due", "Starts", "Ends", "Takes", "Succeed", "Fail", "Jobs", "Status"]} rows={r.phases.map((p) => ({
        key: `${p.batchId}/${p.phase}`,
        cells: [...(many ? [p.batchId] : []), p.phase, p.offset ?? "–", at(p.dueAt), at(p.startedAt), at(p.endedAt), p.endedAt ? duration(p.seconds * 1000) : "–", p.succeeded.toLocaleString(), p.failed.toLocaleString(), p.jobs.toLocaleString(), p.status],
      }))} />
    </Section>
  );
}

function Licenses({ report: r }: { report: Report }) {
  return (
    <Section id="licences" title="Licences">
      {r.licenses.length === 0 ? <p class="empty">The copies have no products.</p> : (
        <Table name="Licences" head={["Tenant", "Product", "Bought", "Used before", "Used after", "Free after"]} rows={r.licenses.map((l) => ({
          key: `${l.tenant}/${l.skuPartNumber}`,
          cells: [l.tenant, l.skuPartNumber, l.bought.toLocaleString(), l.usedBefore.toLocaleString(), l.usedAfter.toLocaleString(), <span class={l.bought < l.usedAfter ? "k-fail" : ""}>{(l.bought - l.usedAfter).toLocaleString()}</span>],
        }))} />
      )}
    </Section>
  );
}

function Calls({ report: r }: { report: Report }) {
  return (
    <Section id="calls" title="Calls per minute">
      {r.calls.length === 0 ? <p class="empty">No tenant was called.</p> : (
        <Table name="Calls per minute" head={["Tenant", "Kind", "Total", "In the busiest minute", "Busiest minute", "Limit"]} rows={r.calls.map((c) => ({
          key: `${c.tenant}/${c.kind}`,
          cells: [c.tenant, c.kind, c.total.toLocaleString(), c.busiestMinute.toLocaleString(), <Time at={c.busiestAt} as="full" />, c.limit ?? "none is published"],
        }))} />
      )}
    </Section>
  );
}

function WayBack({ removal: v }: { removal: NonNullable<Report["removal"]> }) {
  return (
    <Section id="way-back" title="The way back" count={v.left.length} kind={v.left.length > 0 ? "warn" : ""} note={`${people(v.members.length)} leave at ${v.offset}`}>
      <p>{v.members.join(", ")}{v.members.length > 0 && ". "}{v.left.length > 0 ? "These changes of the migration stay:" : "Nothing is left of the migration."}</p>
      {v.errors.length > 0 && <GroupTable name="Errors on the way back" groups={v.errors} />}
      <Changes changes={v.left} />
    </Section>
  );
}

/** How many changes are shown at once: a large wave has thousands. */
const page = 100;

function Changes({ changes }: { changes: Change[] }) {
  const [text, setText] = useState("");
  const [shown, setShown] = useState(page);
  const found = text ? changes.filter((c) => `${c.name} ${c.kind} ${c.tenant} ${c.effect}`.toLowerCase().includes(text.toLowerCase())) : changes;
  return (
    <>
      {changes.length > 10 && <div class="filters"><label class="filter">Name, kind or tenant: <input type="search" value={text} onInput={(e) => { setText(e.currentTarget.value); setShown(page); }} /></label></div>}
      {found.slice(0, shown).map((c) => (
        <details key={`${c.tenant}/${c.kind}/${c.id}`} class="change">
          <summary>{c.name} <span class="quiet">{c.kind} in {c.tenant}, {c.effect}</span></summary>
          <Table name={`Properties of ${c.name}, ${c.kind} in ${c.tenant}`} head={["Property", "Before", "After"]} rows={c.fields.map((f) => ({ key: f.name, cells: [f.name, value(f.before) || "–", value(f.after) || "–"] }))} />
        </details>
      ))}
      {found.length > shown && <button type="button" class="button" onClick={() => setShown(shown + page)}>Show {Math.min(page, found.length - shown)} more of {found.length.toLocaleString()}</button>}
    </>
  );
}
