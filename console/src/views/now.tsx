import type { Schema } from "../api/client";
import { href, type Place } from "../router";
import { useShared } from "../shared";
import { Bar, Legend } from "../ui/bar";
import { ErrorBanner } from "../ui/failure";
import { Glyph, type Sign } from "../ui/glyph";
import { Head, Loading, Section } from "../ui/page";
import { dayAndTime, dayOf, duration, localTimes, people, plural, time, when } from "../ui/text";
import { Time } from "../ui/time";
import { timeLeft } from "./counts";
import { FirstSteps, useBeginnings } from "./firststeps";
import { WaitingReason } from "./waiting";

type Summary = Schema<"Summary">;
type Attention = Schema<"Attention">;

const signs: Record<Attention["event"], [Sign, string]> = {
  gate_waiting: ["lock", "warn"], removals_held: ["hold", "warn"], additions_held: ["hold", "warn"], failures: ["fail", "fail"],
  worker_silent: ["silent", "warn"], source_failing: ["source", "warn"], message_unprocessable: ["warning", "warn"], containers_lost: ["warning", "warn"],
};

/** Where a person can act on it, and the words of the link. */
function target(a: Attention): [string, string] {
  const names = a.count ? `Review ${plural(a.count, "name")}` : "Review the names";
  switch (a.event) {
    case "failures": return [href("waves", a.batchId!, { people: "failed" }), a.count ? `Review ${plural(a.count, "failure")}` : "Review the failures"];
    case "gate_waiting": return [href("waves", a.batchId!), "Review and approve"];
    case "removals_held": return [href("sources", a.runbook!, { hold: a.batchId }), names];
    case "additions_held": return [href("sources", a.runbook!, { hold: "additions" }), names];
    case "source_failing": return [href("sources", a.runbook!), "Open source"];
    case "worker_silent": return [href("workers", a.workerId!), "Open worker"];
    case "message_unprocessable": return [href("activity", { tab: "messages" }), "Open messages"];
    case "containers_lost": return [href("containers"), "Open containers"];
    default: return [a.batchId ? href("waves", a.batchId) : href("activity"), "Open"]; // an event that is newer than this page
  }
}

/** What waits for a person, what runs, and what comes in the next seven days. */
export function Now(_: { place: Place }) {
  const { summary } = useShared();
  const s = summary.data;
  const quiet = s !== undefined && s.attention.length === 0 && s.running.length === 0 && s.upcomingCount === 0;
  const beginnings = useBeginnings(quiet);
  if (!s) return summary.error ? <ErrorBanner error={summary.error} retry={summary.reload} /> : <Loading />;
  if (quiet && beginnings && !beginnings.wave) return <FirstSteps at={beginnings} />;
  const now = new Date(s.at); // the time of the system, which the times below are measured by
  const next = s.upcoming[0];
  return (
    <>
      <Head title="Now" sub={<>{dayAndTime(now)}. {s.runningBatches === 0 ? "No wave is running" : plural(s.runningBatches, "wave is running", "waves are running")}, and {s.attention.length === 0 ? "nothing needs a person" : plural(s.attention.length, "thing needs a person", "things need a person")}.{next && ` Next is ${next.phase} of ${nameOf(next)}, ${dayAndTime(next.startsAt)}.`}</>} />
      <div class="split now">
        <Section id="attention" title="Needs a person" count={s.attention.length} end={<a href={href("activity")}>Who decided what</a>}>
          {s.attention.length === 0 && <p class="empty">Nothing waits for a person.</p>}
          <ul>{s.attention.map((a) => <Tile key={`${a.event}/${a.batchId}/${a.phase}/${a.workerId}/${a.runbook}/${a.subject}`} a={a} />)}</ul>
        </Section>
        <Section id="running" title="Running now" count={s.runningBatches}>
          {s.running.length === 0 && <p class="empty">No phase runs.</p>}
          {s.running.map((r) => <Running key={r.phaseId + "/" + r.batchId} r={r} />)}
        </Section>
      </div>
      <Calendar summary={s} now={now} />
    </>
  );
}

const nameOf = (b: { batchName?: string; batchId: number }) => b.batchName ?? `Wave ${b.batchId}`;

function subject(a: Attention) {
  const wave = <b>{a.batchName || `Wave ${a.batchId}`}</b>;
  switch (a.event) {
    case "failures": return <><b>{people(a.count ?? 0)} failed</b> in {a.phase} of {wave}</>;
    case "gate_waiting": return <>{wave} waits for approval of <b>{a.phase}</b></>;
    case "removals_held": return <><b>{plural(a.count ?? 0, "removal")}</b> of {wave} need confirmation</>;
    case "additions_held": return <><b>{plural(a.count ?? 0, "addition")}</b> of {a.runbook} need confirmation</>;
    case "worker_silent": return <>Worker <b>{a.workerId}</b> is silent</>;
    case "source_failing": return <>The source of <b>{a.runbook}</b> cannot be read</>;
    default: return <b>{a.subject}</b>;
  }
}

function Tile({ a }: { a: Attention }) {
  const [sign, kind] = signs[a.event] ?? ["warning", "warn"];
  const [address, verb] = target(a);
  return (
    <li class="tile">
      <Glyph sign={sign} kind={kind} />
      <span>{subject(a)}</span>
      <span class="when">{a.dueAt && <>due <Time at={a.dueAt} /></>}</span>
      <a class="button" href={address}>{verb}</a>
      <span class="sub">{localTimes(a.text)}</span>
    </li>
  );
}

function Running({ r }: { r: Summary["running"][number] }) {
  const left = timeLeft(r, r.perMinute || undefined);
  const away = r.waitingReason?.code === "worker_silent";
  const counts = { done: r.succeeded, run: r.running, wait: 0, fail: r.failed, skip: r.cancelled };
  return (
    <div class="running">
      <div class="row"><a href={href("waves", r.batchId)}><b>{nameOf(r)}</b></a><b>{left !== undefined && !away ? when(new Date(Date.now() + left)) : "End not known"}</b></div>
      <div class="row sub"><span>{r.phase} · {people(r.members)}</span><span>{left !== undefined && !away ? `about ${duration(Math.max(60_000, left))} left` : ""}</span></div>
      <Bar counts={counts} />
      <Legend counts={counts} />
      {r.waitingReason && <WaitingReason reason={r.waitingReason} />}
    </div>
  );
}

const days = 8;

/** The phases of the next seven days: a row for each wave, a glyph at the minute that each starts. */
function Calendar({ summary: s, now }: { summary: Summary; now: Date }) {
  const start = new Date(now);
  start.setHours(0, 0, 0, 0);
  const dates = Array.from({ length: days }, (_, n) => new Date(start.getFullYear(), start.getMonth(), start.getDate() + n));
  const end = new Date(start.getFullYear(), start.getMonth(), start.getDate() + days).getTime();
  const x = (t: string | Date) => (100 * (new Date(t).getTime() - start.getTime())) / (end - start.getTime());
  const rows = new Map<number, { name: string; id: number; phases: Summary["upcoming"]; running: Summary["running"] }>();
  const row = (b: { batchName?: string; batchId: number }) => {
    if (!rows.has(b.batchId)) rows.set(b.batchId, { name: nameOf(b), id: b.batchId, phases: [], running: [] });
    return rows.get(b.batchId)!;
  };
  for (const r of s.running) row(r).running.push(r);
  for (const u of s.upcoming) row(u).phases.push(u);
  const left = s.upcomingCount - s.upcoming.length;
  return (
    <Section id="calendar" title="Next seven days" note={
      <span class="key"><span><Glyph sign="run" kind="run" /> running</span><span><Glyph sign="due" kind="wait" /> due</span><span><Glyph sign="lock" kind="warn" /> needs an approval</span><span><Glyph sign="pause" kind="warn" /> paused</span></span>
    }>
      {rows.size === 0 && <p class="empty">No phase is due within seven days. Waves that are advanced by hand have no times.</p>}
      {rows.size > 0 && (
        <>
          <div class="calendar">
            <div class="days" aria-hidden="true"><span /><div>{dates.map((d, n) => <span key={d.getTime()} class={n === 0 ? "today" : ""} style={{ left: `${x(d)}%` }}>{dayOf(d)}</span>)}<i class="line-now" style={{ left: `${x(now)}%` }}>{time(now)}</i></div></div>
            {[...rows.values()].map((r) => (
              <div class="lane" key={r.id}>
                <a href={href("waves", r.id)}>{r.name}</a>
                <div>
                  {dates.map((d) => <i key={d.getTime()} class="day" style={{ left: `${x(d)}%` }} />)}
                  {r.phases.filter((p) => delayed(p, now)).map((p) => <i key={`quiet-${p.phaseId}`} class="quiet-hours" title="Quiet hours" style={{ left: `${Math.max(0, x(p.dueAt))}%`, right: `${100 - x(p.startsAt)}%` }} />)}
                  <i class="line-now" style={{ left: `${x(now)}%` }} />
                  {r.running.map((p) => <Due key={p.phaseId} at={x(now)} sign="run" kind="run" text={p.phase} />)}
                  {r.phases.map((p) => { const [sign, kind] = stateOf(p, now); return <Due key={p.phaseId} at={Math.max(x(p.startsAt), x(now))} sign={sign} kind={kind} text={p.phase} starts={p.startsAt} />; })}
                </div>
              </div>
            ))}
          </div>
          <ol class="agenda">
            {s.upcoming.map((p) => {
              const [sign, kind, word] = stateOf(p, now);
              return <li key={`${p.batchId}/${p.phaseId}`}><Glyph sign={sign} kind={kind} /><span><Time at={p.startsAt} as="full" utc /></span><a href={href("waves", p.batchId)}>{nameOf(p)}</a><span><b>{p.phase}</b> for {people(p.members)}</span><span class="quiet">{p.reason ?? word}</span></li>;
            })}
          </ol>
          {left > 0 && <p class="quiet">and {plural(left, "more phase")}.</p>}
        </>
      )}
    </Section>
  );
}

/** Whether quiet hours delay a phase. One that is overdue for another reason starts now. */
const delayed = (p: Summary["upcoming"][number], now: Date) => p.startsAt !== p.dueAt && Date.parse(p.startsAt) > now.getTime() + 60_000;

function stateOf(p: Summary["upcoming"][number], now: Date): [Sign, string, string] {
  if (p.paused) return ["pause", "warn", "the wave is paused"];
  if (p.approvalRequired && !p.approved) return ["lock", "warn", "needs an approval"];
  return ["due", "wait", delayed(p, now) ? "after quiet hours" : ""];
}

/** A phase in the calendar: its glyph is at the minute, its label to the left, or to the right near the left edge. */
function Due({ at, sign, kind, text, starts }: { at: number; sign: Sign; kind: string; text: string; starts?: string }) {
  const right = at < 14;
  return <span class={`due k-${kind} ${right ? "right" : ""}`} style={right ? { left: `${at}%` } : { right: `${100 - at}%` }}>{right && <Glyph sign={sign} />}<b>{text}</b>{starts && <time dateTime={starts}><span class="visually-hidden">{dayOf(starts)}</span> {time(starts)}</time>}{!right && <Glyph sign={sign} />}</span>;
}
