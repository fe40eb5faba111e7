import { data, type Schema } from "../api/client";
import { useLive } from "../live";
import { href, type Place } from "../router";
import { Bar, Legend } from "../ui/bar";
import { useShared } from "../shared";
import { Failure } from "../ui/failure";
import { Glyph } from "../ui/glyph";
import { memberLooks, phaseLooks, Status } from "../ui/status";
import { dayAndTime, duration, inUTC, people, when } from "../ui/text";
import { currentPhase, phaseCounts } from "./counts";
import { FilterTabs, FilterText } from "../ui/fields";
import { List } from "../ui/list";
import { Section } from "../ui/page";
import { usePages } from "../ui/pages";
import { Time } from "../ui/time";
import { WaitingReason } from "./waiting";
import { BatchStatus } from "./waves";

/** One batch: its phases, its errors in groups and its members. */
export function Wave({ id, place }: { id: number; place: Place }) {
  const { api } = useShared();
  const path = { id };
  const batch = useLive(() => data(api.GET("/batches/{id}", { params: { path } })), [id]);
  const phases = useLive(() => data(api.GET("/batches/{id}/phases", { params: { path } })), [id]);
  const errors = useLive(() => data(api.GET("/batches/{id}/errors", { params: { path } })), [id], 2000);
  if (batch.error && !batch.data) return <Failure title={`Wave ${id} cannot be shown`} error={batch.error} retry={batch.reload} />;
  const b = batch.data;
  if (!b) return <div class="skeleton" style={{ height: "320px" }} aria-busy="true" />;
  const all = phases.data?.items ?? [];
  const now = currentPhase(all);
  return (
    <>
      <p class="crumb"><a href={href("waves")}>Waves</a> /</p>
      <div class="head">
        <div>
          <div class="title"><h1>{b.name || `Wave ${b.id}`}</h1><BatchStatus batch={b} grounded /></div>
          <div class="facts">
            <span><b>{people(b.memberCount - (b.removedCount ?? 0))}</b></span>
            <span>Runbook <b>{b.runbook} v{b.runbookVersion}</b></span>
            <span>Start {b.batchStartTime ? <><b>{dayAndTime(b.batchStartTime)}</b> ({inUTC(b.batchStartTime)})</> : <b>when advanced</b>}</span>
            {b.owner && <span>Owner <b>{b.owner}</b></span>}
          </div>
        </div>
      </div>
      {now && <div class="progress"><Bar counts={phaseCounts(now)} size="thick" /><Legend counts={phaseCounts(now)} /></div>}
      {b.waitingReason && <div class="notice"><WaitingReason reason={b.waitingReason} /></div>}
      {b.error && <div class="notice fail"><Glyph sign="fail" />{b.error}</div>}
      <Phases phases={all} />
      <Errors batch={b} errors={errors.data} />
      <Members batch={b} place={place} />
    </>
  );
}

function Phases({ phases }: { phases: Schema<"Phase">[] }) {
  return (
    <section class="block" aria-label="Phases">
      <ol class="track">
        {phases.filter((p) => p.status !== "superseded").map((p) => {
          const look = p.approvalRequired && !p.approved && p.status === "pending" ? { kind: "warn" as const, sign: "lock" as const, word: "Waits for approval" } : phaseLooks[p.status];
          return (
            <li key={p.id} class={p.completedAt ? "past" : ""}>
              <Glyph sign={look.sign} kind={look.kind} />
              <span class="name">{p.name} {p.kind === "phase" && <span class="quiet">{offset(p.offsetMinutes)}</span>}</span>
              <span>{p.dueAt ? dayAndTime(p.dueAt) : "when advanced"}</span>
              <span class="quiet">{look.word}{p.dispatchedAt && p.completedAt && `, took ${duration(Date.parse(p.completedAt) - Date.parse(p.dispatchedAt))}`}</span>
              {p.dispatchedAt && p.members > 0 && <Bar counts={phaseCounts(p)} size="thin" />}
              {p.members > 0 && <span class="quiet">{p.kind === "init" ? "for the wave" : `${p.succeeded} of ${people(p.members)}`}</span>}
              {p.reason && <span class="reason">{p.reason}</span>}
            </li>
          );
        })}
      </ol>
    </section>
  );
}

/** When a phase is due, by the minutes before the start of the batch: T-5d, T+90m. */
function offset(minutes: number) {
  if (minutes === 0) return "T-0";
  const sign = minutes > 0 ? "-" : "+";
  const m = Math.abs(minutes);
  return `T${sign}${m % 1440 === 0 ? `${m / 1440}d` : m % 60 === 0 ? `${m / 60}h` : `${m}m`}`;
}

function Errors({ batch, errors }: { batch: Schema<"Batch">; errors?: Schema<"BatchErrors"> }) {
  if (!errors || errors.groups.length === 0) return null;
  return (
    <section class="block" aria-labelledby="failed">
      <header><h2 id="failed">Failed <span class="count fail">{errors.members}</span> <span class="quiet">in {errors.groups.length} {errors.groups.length === 1 ? "error" : "errors"}</span></h2></header>
      {errors.groups.map((g) => (
        <div class="group" key={`${g.phase}/${g.step}/${g.errorGroup}`}>
          <span class="n">{g.count}</span>
          <div>
            <div class="text">{g.errorGroup}</div>
            <span class="sub">{g.phase} / {g.step} · {g.examples.slice(0, 2).map((e) => e.memberKey).join(", ")}{g.count > 2 && ` and ${g.count - 2} others`}</span>
          </div>
          <div class="seen">{when(g.firstAt)}<span class="sub">last {when(g.lastAt)}</span></div>
          <div class="acts">{g.examples[0] && <a class="button small" href={href("waves", batch.id, "people", g.examples[0].memberId)}>Open one</a>}</div>
        </div>
      ))}
    </section>
  );
}

const tabs: [string, string][] = [["", "All"], ["failed", "Failed"], ["active", "Active"], ["done", "Done"], ["removed", "Removed"]];

function Members({ batch, place }: { batch: Schema<"Batch">; place: Place }) {
  const { api } = useShared();
  const status = tabs.find(([name]) => name === place.query.get("people"))?.[0] || undefined;
  const search = place.query.get("q") || undefined;
  const pages = usePages(
    (continuationToken) => data(api.GET("/batches/{id}/members", { params: { path: { id: batch.id }, query: { status: status ? [status as Schema<"MemberStatus">] : undefined, search, limit: 100, continuationToken } } })),
    (m) => m.id, [batch.id, status, search]);
  return (
    <Section id="people" title="People" count={batch.memberCount - (batch.removedCount ?? 0)} end={<FilterText label="Key begins with" name="q" value={search ?? ""} />}>
      <FilterTabs label="Status" name="people" value={status ?? ""} options={tabs} />
      <List label="People" pages={pages} keyOf={(m) => m.id} open={(m) => href("waves", batch.id, "people", m.id)} empty={status || search ? "No person fits this filter." : "The wave has no people."}
        columns={[
          { title: "Person", cell: (m) => <><a href={href("waves", batch.id, "people", m.id)}>{m.display ?? m.memberKey}</a>{m.display && <span class="sub">{m.memberKey}</span>}</> },
          { title: "Phase", wide: true, cell: (m) => <>{m.failedPhase ?? m.phase}<span class="sub">{m.failedStep}</span></> },
          { title: "Status", cell: (m) => <><Status look={memberLooks[m.status]} /><span class="sub">{m.error}</span></> },
          { title: "Added", number: true, wide: true, width: "100px", cell: (m) => <Time at={m.addedAt} /> },
        ]} />
    </Section>
  );
}
