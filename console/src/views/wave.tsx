import { useEffect, useState } from "preact/hooks";
import { data, type Schema } from "../api/client";
import { rarely, useFollow } from "../follow";
import { lazy } from "../lazy";
import { useLive } from "../live";
import { href, setQuery, type Place } from "../router";
import { permit, usePermit, useShared } from "../shared";
import { ActionButton, More } from "../ui/action";
import { Bar, Legend } from "../ui/bar";
import { Failure, Stale } from "../ui/failure";
import { FilterTabs, FilterText } from "../ui/fields";
import { download } from "../ui/files";
import { Glyph } from "../ui/glyph";
import { useKeys } from "../ui/keys";
import { List } from "../ui/list";
import { Announce, Head, Loading, Section } from "../ui/page";
import { usePages } from "../ui/pages";
import { lookOf, memberLooks, phaseLooks, Status } from "../ui/status";
import { useSteady } from "../ui/steady";
import { dayAndTime, duration, inUTC, people, plural, when } from "../ui/text";
import { Time } from "../ui/time";
import { toast, toastError } from "../ui/toast";
import { AuditEntry } from "./audit";
import { currentPhase, phaseCounts, timeLeft } from "./counts";
import { WaitingReason } from "./waiting";
import { WaveDialog, waveName, type Selection, type WaveAction } from "./waveactions";
import { BatchStatus, Shadow } from "./waves";

const Pace = lazy(() => import("./pace").then((m) => m.Pace));

type Batch = Schema<"Batch">;
type Phase = Schema<"Phase">;

/** One batch: its phases, its errors in groups, its members, its pace and its audit. */
export function Wave({ id, place }: { id: number; place: Place }) {
  const { api } = useShared();
  const path = { id };
  const batch = useLive(() => data(api.GET("/batches/{id}", { params: { path } })), [id]);
  const phases = useLive(() => data(api.GET("/batches/{id}/phases", { params: { path } })), [id], rarely);
  const errors = useLive(() => data(api.GET("/batches/{id}/errors", { params: { path } })), [id], rarely);
  const audit = useLive(() => data(api.GET("/batches/{id}/audit", { params: { path, query: { limit: 20 } } })), [id], rarely);
  const [dialog, open] = useState<WaveAction>();
  const [selected, select] = useState<ReadonlySet<string | number>>(new Set());
  const b = batch.data;
  useFollow(b?.etag, phases.reload, errors.reload, audit.reload);
  const done = () => {
    if (dialog && "of" in dialog && dialog.of.memberIds) select(new Set());
    for (const part of [batch, phases, errors, audit]) part.reload();
  };
  const advance = permit(b?.actions, "advance");
  const next = b?.actions?.find((a) => a.name === "advance")?.phase;
  useKeys({ a: () => { if (advance.allowed && next) open({ do: "advance", phase: next }); } });
  if (batch.error && !b) return <Failure title={`Wave ${id} cannot be shown`} error={batch.error} retry={batch.reload} />;
  if (!b) return <Loading />;
  const all = phases.data?.items ?? [];
  const now = currentPhase(all);
  return (
    <>
      <Head title={waveName(b)} status={<><BatchStatus batch={b} grounded /><Shadow batch={b} grounded /></>} crumb={<><a href={href("waves")}>Waves</a> /</>}
        facts={<>
          <span><b>{people(b.memberCount - (b.removedCount ?? 0))}</b></span>
          <span>Runbook <a href={href("runbooks", b.runbook, { version: b.runbookVersion })}>{b.runbook} v{b.runbookVersion}</a></span>
          <span>Start {b.batchStartTime ? <><b>{dayAndTime(b.batchStartTime)}</b> ({inUTC(b.batchStartTime)})</> : <b>when advanced</b>}</span>
          {b.owner && <span>Owner <b>{b.owner}</b></span>}
        </>}
        actions={<Actions batch={b} next={next} open={open} />} />
      <Stale error={batch.error} />
      {b.note && <p class="note">{b.note}</p>}
      {now && <div class="pace-row"><div class="progress"><Bar counts={phaseCounts(now)} size="thick" /><Legend counts={phaseCounts(now)} /></div><Left phase={now} batch={b} /></div>}
      {now?.status === "dispatched" && <Announce text={`${now.name}: ${now.succeeded} done, ${now.running} running, ${now.failed} failed of ${now.members}.`} />}
      {!b.completedAt && <p class="waits">{b.waitingReason && <><WaitingReason reason={b.waitingReason} />{b.waitingReason.workerId && <a href={href("workers", b.waitingReason.workerId)}>Open {b.waitingReason.workerId}</a>}</>}</p>}
      {b.removalHold && !b.removalHold.confirmed && <div class="notice"><Glyph sign="hold" /><span>{plural(b.removalHold.memberCount, "removal needs", "removals need")} confirmation: {b.removalHold.reason}</span><a href={href("sources", b.runbook, { hold: b.id })}>Review the names</a></div>}
      {b.error && <div class="notice fail"><Glyph sign="fail" /><span>{b.error}</span></div>}
      <div class="stacked">
      <Phases phases={all} open={open} />
      <div class="split">
        <div>
          <Errors batch={b} errors={errors.data} open={open} />
          <Members batch={b} failed={errors.data?.members} place={place} open={open} selected={selected} select={select} />
        </div>
        <aside>
          <Section id="pace" title="Pace and time left">{now ? <Pace key={now.id} batch={b.id} phase={now} /> : null}</Section>
          <Section id="audit" title="Activity" end={<a href={href("activity", { batch: b.id })}>All, with export</a>}>
            <ol class="audit">{audit.data?.items.map((r) => <AuditEntry key={r.id} record={r} />)}</ol>
          </Section>
        </aside>
      </div>
      </div>
      {dialog && <WaveDialog key={dialog.do} batch={b} action={dialog} onClose={() => open(undefined)} instead={open} done={done} />}
    </>
  );
}

function Actions({ batch: b, next, open }: { batch: Batch; next?: string; open(a: WaveAction): void }) {
  const { session } = useShared();
  const may = (name: Schema<"Action">["name"]) => permit(b.actions, name);
  const report = (format: string) => () => {
    toast("The report is being made.");
    download(session, `/batches/${b.id}/report?format=${format}`, `wave-${b.id}.${format}`).catch(toastError);
  };
  return (
    <>
      {b.paused
        ? <ActionButton permit={may("resume")} onClick={() => open({ do: "resume" })}><Glyph sign="run" /> Resume…</ActionButton>
        : <ActionButton permit={may("pause")} onClick={() => open({ do: "pause" })}><Glyph sign="pause" /> Pause…</ActionButton>}
      <ActionButton permit={may("advance")} kind="primary" onClick={() => next && open({ do: "advance", phase: next })}>{next && may("advance").allowed ? `Start ${next}…` : "Advance…"}</ActionButton>
      <More items={[
        { title: "Reschedule…", permit: may("reschedule"), onClick: () => open({ do: "reschedule" }) },
        { title: "Change name, owner or note…", permit: may("update_batch"), onClick: () => open({ do: "details" }) },
        { title: "Check the people…", permit: may("check"), onClick: () => open({ do: "check" }) },
        { title: "Report as CSV", permit: { allowed: true }, onClick: report("csv") },
        { title: "Report as a page", permit: { allowed: true }, onClick: report("html") },
        { title: "Cancel the wave…", permit: may("cancel"), onClick: () => open({ do: "cancel" }), danger: true },
      ]} />
    </>
  );
}

/** When the phase that runs will have ended, while all workers that it needs are alive. */
function Left({ phase: p, batch: b }: { phase: Phase; batch: Batch }) {
  const [, tick] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => tick((n) => n + 1), 5000);
    return () => clearInterval(timer);
  }, []);
  if (p.status !== "dispatched") return <div class="left"><b>{p.completedAt ? `${p.name} ended` : p.dueAt ? `${p.name} is due` : `${p.name} has not started`}</b><span class="sub">{p.completedAt ? when(p.completedAt) : p.dueAt ? dayAndTime(p.dueAt) : ""}</span></div>;
  const left = timeLeft(p);
  const away = b.waitsFor?.[0];
  if (away || b.paused || left === undefined) return <div class="left"><b>End not known</b><span class="sub">{away ? away.reason : b.paused ? "The wave is paused." : "Nobody has ended the phase yet."}</span></div>;
  return <div class="left"><b>About {duration(Math.max(60_000, left))} left</b><span class="sub">until {when(new Date(Date.now() + left))}, at the pace so far</span></div>;
}

function Phases({ phases, open }: { phases: Phase[]; open(a: WaveAction): void }) {
  return (
    <section class="block" aria-label="Phases">
      <ol class="track">
        {phases.filter((p) => p.status !== "superseded").map((p) => {
          const gate = p.approvalRequired && !p.approved && p.status === "pending";
          const look = gate ? { kind: "warn" as const, sign: "lock" as const, word: "Needs an approval" } : lookOf(phaseLooks, p.status);
          const approve = p.actions?.find((a) => a.name === "approve");
          return (
            <li key={p.id} class={p.completedAt ? "past" : ""}>
              <Glyph sign={look.sign} kind={look.kind} />
              <span class="name">{p.name} {p.kind === "phase" && <span class="quiet">{offset(p.offsetMinutes)}</span>}</span>
              <span>{p.dispatchedAt ? <Time at={p.dispatchedAt} as="full" /> : p.dueAt ? <Time at={p.dueAt} as="full" /> : "when advanced"}</span>
              <span class={gate ? "k-warn" : "quiet"}>{look.word}{p.dispatchedAt && p.completedAt && `, took ${duration(Date.parse(p.completedAt) - Date.parse(p.dispatchedAt))}`}{p.dispatchedAt && p.dueAt && late(p)}</span>
              {p.dispatchedAt && p.members > 0 && <Bar counts={phaseCounts(p)} size="thin" />}
              {p.members > 0 && <span class="quiet">{p.kind === "init" || p.kind === "items" || p.kind === "detached" ? "for the wave" : p.dispatchedAt ? `${p.succeeded + p.failed + p.cancelled} of ${people(p.members)} through` : people(p.members)}</span>}
              {p.reason && <span class="reason">{p.reason}</span>}
              {p.approved && <span class="reason">Approved by {p.approved.by}{p.approved.reason && `: “${p.approved.reason}”`}</span>}
              {(gate || approve?.allowed) && approve && <ActionButton small permit={approve} onClick={() => open({ do: "approve", phase: p.name, members: p.members })}>Approve…</ActionButton>}
            </li>
          );
        })}
      </ol>
    </section>
  );
}

/** How much later than due a phase started, if that is more than a minute. */
function late(p: Phase) {
  const by = Date.parse(p.dispatchedAt!) - Date.parse(p.dueAt!);
  return by > 60_000 ? `, started ${duration(by)} late` : "";
}

/** When a phase is due, by the minutes before the start of the batch: T-5d, T+90m. */
function offset(minutes: number) {
  if (minutes === 0) return "T-0";
  const sign = minutes > 0 ? "-" : "+";
  const m = Math.abs(minutes);
  return `T${sign}${m % 1440 === 0 ? `${m / 1440}d` : m % 60 === 0 ? `${m / 60}h` : `${m}m`}`;
}

function Errors({ batch: b, errors, open }: { batch: Batch; errors?: Schema<"BatchErrors">; open(a: WaveAction): void }) {
  const steady = useSteady(errors?.groups ?? [], (g) => `${g.phase}/${g.step}/${g.errorGroup}`);
  if (!errors || errors.groups.length === 0) return null;
  const retry = permit(b.actions, "retry");
  const skip = permit(b.actions, "skip_step");
  return (
    <Section id="failed" title="Failed" count={errors.members} kind="fail" note={`in ${plural(errors.groups.length, "error")}`}
      end={<ActionButton small permit={retry} onClick={() => open({ do: "retry", of: { name: "Everybody who failed" } })}>Retry all {errors.members}…</ActionButton>}>
      <div {...steady.handlers}>
      {steady.items.map((g) => {
        const of: Selection = { phase: g.phase, step: g.step, errorGroup: g.errorGroup, name: `${g.phase} / ${g.step}: ${g.errorGroup}` };
        const one = g.examples[0];
        return (
          <div class="group" key={`${g.phase}/${g.step}/${g.errorGroup}`}>
            <a class="n" href={href("waves", b.id, { people: "failed", error: g.errorGroup })} aria-label={`Show ${people(g.count)} with this error`}>{g.count.toLocaleString()}</a>
            <div>
              <div class="text"><GroupText text={g.errorGroup} /></div>
              <span class="sub">{g.phase} / {g.step} · {g.examples.slice(0, 2).map((e) => e.memberKey).join(", ")}{g.count > 2 && ` and ${plural(g.count - 2, "other")}`}</span>
            </div>
            <div class="seen">{when(g.firstAt)}<span class="sub">last {when(g.lastAt)}</span></div>
            <div class="acts">
              <ActionButton small permit={retry} onClick={() => open({ do: "retry", of })}>Retry {g.count.toLocaleString()}…</ActionButton>
              <ActionButton small permit={skip} onClick={() => open({ do: "skip", of })}>Skip…</ActionButton>
              {one && <a class="button small" href={href("waves", b.id, "people", one.memberId)}>Open one</a>}
            </div>
          </div>
        );
      })}
      </div>
      {steady.waiting > 0 && <p class="quiet">{plural(steady.waiting, "new error")} will be shown here once the pointer has left the list.</p>}
    </Section>
  );
}

/** The text of an error group: what differs between its members is a well. */
function GroupText({ text }: { text: string }) {
  return <>{text.split("…").map((part, n) => <>{n > 0 && <span class="blank" aria-label="differs">…</span>}{part}</>)}</>;
}

/** The error of the step at which a member failed. The phase and the step stand beside it. */
const stepError = (m: Schema<"Member">) => (m.error ?? "").replace(`phase ${m.failedPhase}: `, "").replace(`step "${m.failedStep}": `, "");

/** Whether an error of a failed member is of a group: its text with a mark for what differs. */
function inGroup(group: string): (m: Schema<"Member">) => boolean {
  const pattern = new RegExp(`^${group.split("…").map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join(".+?")}$`, "is");
  return (m) => pattern.test(stepError(m).trim().split(/\s+/).join(" "));
}

function Members({ batch: b, failed, place, open, selected, select }: { batch: Batch; failed?: number; place: Place; open(a: WaveAction): void; selected: ReadonlySet<string | number>; select(s: ReadonlySet<string | number>): void }) {
  const { api } = useShared();
  // The API lists these two with each person alone.
  const [remove, move] = [usePermit("administer"), usePermit("operate")];
  const tabs: [string, string, number?][] = [["", "All", b.memberCount], ["failed", "Failed", failed], ["active", "Active"], ["done", "Done"], ["removed", "Removed", b.removedCount]];
  const status = tabs.find(([name]) => name === place.query.get("people"))?.[0] || undefined;
  const search = place.query.get("q") || undefined;
  const sort = (place.query.get("sort") ?? "id") as Schema<"MemberSort">;
  const error = (status === "failed" && place.query.get("error")) || undefined;
  const pages = usePages(
    async (continuationToken) => {
      const page = await data(api.GET("/batches/{id}/members", { params: { path: { id: b.id }, query: { status: status ? [status as Schema<"MemberStatus">] : undefined, search, sort, limit: error ? 1000 : 100, continuationToken } } }));
      return error ? { ...page, items: page.items.filter(inGroup(error)) } : page;
    },
    (m) => m.id, [b.id, status, search, sort, error], rarely);
  useFollow(b.etag, pages.reload);
  const chosen: Selection = { memberIds: [...selected] as number[], name: `${people(selected.size)} of ${waveName(b)}` };
  return (
    <Section id="people" title="People" count={b.memberCount - (b.removedCount ?? 0)} end={<FilterText label="Key begins with" name="q" value={search ?? ""} />}>
      <div class="filters">
        <FilterTabs label="Status" name="people" value={status ?? ""} options={tabs} clears="error" />
        {error && <button type="button" class="button small" onClick={() => setQuery({ error: undefined })}><span class="error-filter">{error}</span> <Glyph sign="close" /><span class="visually-hidden">show all who failed</span></button>}
        {selected.size > 0 && (
          <div class="selection" role="group" aria-label="Selected people">
            <b>{selected.size} selected</b>
            <ActionButton small permit={permit(b.actions, "retry")} onClick={() => open({ do: "retry", of: chosen })}>Retry…</ActionButton>
            <ActionButton small permit={permit(b.actions, "skip_step")} onClick={() => open({ do: "skip", of: chosen })}>Skip…</ActionButton>
            <ActionButton small permit={move} onClick={() => open({ do: "move", of: chosen })}>Move…</ActionButton>
            <ActionButton small permit={remove} onClick={() => open({ do: "remove", of: chosen })}>Remove…</ActionButton>
            <button type="button" class="button small plain" onClick={() => select(new Set())}>Clear</button>
          </div>
        )}
      </div>
      <List label="People" pages={pages} keyOf={(m) => m.id} open={(m) => href("waves", b.id, "people", m.id)} sort={sort} nameOf={(m) => m.display ?? m.memberKey} selected={selected} onSelect={select}
        empty={status || search || error ? "No person fits this filter." : "The wave has no people."}
        columns={[
          { title: "Person", sort: "memberKey", cell: (m) => <><a href={href("waves", b.id, "people", m.id)}>{m.display ?? m.memberKey}</a><span class="sub">{m.display && m.memberKey}</span></> },
          { title: "Phase and step", wide: true, width: "24%", cell: (m) => <>{m.failedPhase ?? m.phase}<span class="sub">{m.failedStep}</span></> },
          { title: "Status", sort: "status", width: "30%", cell: (m) => <><Status look={lookOf(memberLooks, m.status)} /><span class="sub" title={stepError(m)}>{stepError(m)}</span></> },
          { title: "Added", sort: "addedAt", number: true, wide: true, width: "90px", cell: (m) => <Time at={m.addedAt} /> },
        ]} />
    </Section>
  );
}
