import { useEffect, useRef, useState } from "preact/hooks";
import { data, type Schema } from "../api/client";
import { rarely, useFollow } from "../follow";
import { useLive } from "../live";
import { href, type Place } from "../router";
import { permit, useShared } from "../shared";
import { ActionButton, More } from "../ui/action";
import { Confirm } from "../ui/dialog";
import { Failure, Stale } from "../ui/failure";
import { SelectField, TextField, useDraft } from "../ui/fields";
import { Glyph } from "../ui/glyph";
import { Head, Loading, Section } from "../ui/page";
import { lookOf, memberLooks, Status, stepLooks } from "../ui/status";
import { dayAndTime, duration, exactly, plural, sameDay, seconds, secret, when } from "../ui/text";
import { Time } from "../ui/time";
import { toast } from "../ui/toast";
import { AuditEntry } from "./audit";
import { Correct } from "./correct";
import { Move, Repair, waveName } from "./waveactions";

type Member = Schema<"Member">;
type Step = Schema<"Step">;
type Phase = Schema<"Phase">;
type Dialog = "retry" | "skip" | "done" | "move" | "remove" | "check";

/** One member: what is known of them, and every step of their journey, the newest phase first. */
export function Person({ batch, member, place }: { batch: number; member: number; place: Place }) {
  const { api } = useShared();
  const path = { id: batch };
  const person = useLive(() => data(api.GET("/batches/{id}/members/{member}", { params: { path: { id: batch, member: String(member) } } })), [batch, member]);
  const steps = useLive(() => data(api.GET("/batches/{id}/steps", { params: { path, query: { member: String(member), limit: 200, include: ["params", "result"] } } })), [batch, member]);
  const wave = useLive(() => data(api.GET("/batches/{id}", { params: { path, query: { include: ["phases"] } } })), [batch], rarely);
  const audit = useLive(() => data(api.GET("/batches/{id}/audit", { params: { path, query: { limit: 200 } } })), [batch], rarely);
  const [dialog, open] = useState<Dialog>();
  const m = person.data;
  useFollow(m?.etag, audit.reload, wave.reload);
  if (person.error && !m) return <Failure title="This person cannot be shown" error={person.error} retry={person.reload} />;
  if (!m) return <Loading />;
  const name = m.display ?? m.memberKey;
  const all = steps.data?.items ?? [];
  const failed = all.find((s) => s.step === m.failedStep && s.phase === m.failedPhase && !s.rollback);
  const rolledBack = all.some((s) => s.rollback && s.phase === m.failedPhase && s.status === "succeeded");
  const may = (action: Schema<"Action">["name"]) => permit(m.actions, action);
  const done = (text: string) => {
    for (const part of [person, steps, audit]) part.reload();
    toast(text);
  };
  const records = (audit.data?.items ?? []).filter((r) => r.target?.includes(m.memberKey) || new RegExp(`\\bmember ${m.id}\\b`).test(r.target ?? ""));
  return (
    <>
      <Head title={name} crumb={<><a href={href("waves")}>Waves</a> / <a href={href("waves", batch)}>{wave.data ? waveName(wave.data) : `Wave ${batch}`}</a> /</>}
        status={<>
          <Status look={lookOf(memberLooks, m.status)} grounded text={m.failedPhase ? `Failed in ${m.failedPhase}` : undefined} />
          {rolledBack && <Status look={{ kind: "warn", sign: "undo", word: "Rolled back" }} grounded />}
        </>}
        facts={<>
          {m.display && <span>{m.memberKey}</span>}
          {m.phase && <span>Phase <b>{m.phase}</b></span>}
          {wave.data && <span>Runbook <a href={href("runbooks", wave.data.runbook, { version: wave.data.runbookVersion })}>{wave.data.runbook} v{wave.data.runbookVersion}</a></span>}
          <span>Added {when(m.addedAt)}</span>
          {m.movedFrom && <span>Came from <a href={href("waves", m.movedFrom)}>wave {m.movedFrom}</a></span>}
          {m.movedToBatchId && <span>Moved to <a href={href("waves", m.movedToBatchId)}>wave {m.movedToBatchId}</a></span>}
          {m.removedAt && <span>Removed {when(m.removedAt)}{m.removedBy && ` by ${m.removedBy}`}</span>}
        </>}
        actions={<>
          <ActionButton permit={may("retry")} onClick={() => open("retry")}>Retry…</ActionButton>
          <ActionButton permit={may("skip_step")} onClick={() => open("skip")}>Skip step…</ActionButton>
          <ActionButton permit={may("mark_done")} onClick={() => open("done")}>Mark step done…</ActionButton>
          <More items={[
            { title: "Check this person…", permit: may("check"), onClick: () => open("check") },
            { title: "Move to another wave…", permit: may("move_member"), onClick: () => open("move") },
            { title: "Remove from the wave…", permit: may("remove_member"), onClick: () => open("remove"), danger: true },
          ]} />
        </>} />
      <Stale error={person.error} />
      {m.error && (
        <div class="notice fail big">
          <Glyph sign="fail" />
          <div>
            <b>{failed?.error ?? m.error}</b>
            <span class="sub">{m.failedStep && <>Step <a href={`#${m.failedStep}`}>{m.failedStep}</a>, </>}{failed && plural((failed.retryCount ?? 0) + 1, "attempt")}{m.failedAt && <>, last at <Time at={m.failedAt} as="exactly" /></>}</span>
          </div>
          <a href={href("waves", batch, { people: "failed" })}>Who else failed</a>
        </div>
      )}
      <div class="stacked">
      <div class="split">
        <Journey steps={all} loaded={steps.data !== undefined} phases={wave.data?.phases ?? []} member={m} open={place.hash} />
        <aside>
          <Correct batch={batch} member={m} permit={may("correct_member")} retry={may("retry")} done={done} />
          {records.length > 0 && <Section id="audit" title="Activity"><ol class="audit">{records.slice(0, 20).map((r) => <AuditEntry key={r.id} record={r} />)}</ol></Section>}
          <OtherWaves batch={batch} member={m} name={name} />
        </aside>
      </div>
      </div>
      {dialog === "retry" && <Retry batch={batch} member={m} steps={all} onClose={() => open(undefined)} done={done} />}
      {(dialog === "skip" || dialog === "remove") && <Repair batch={{ id: batch }} what={dialog} of={{ memberIds: [m.id], name: dialog === "skip" ? `${name}: ${m.failedStep}` : name }} onClose={() => open(undefined)} done={done} />}
      {dialog === "move" && wave.data && <Move batch={wave.data} of={{ memberIds: [m.id], name }} onClose={() => open(undefined)} done={done} />}
      {dialog === "done" && <MarkDone batch={batch} member={m} onClose={() => open(undefined)} done={done} />}
      {dialog === "check" && (
        <Confirm title={`Check ${name}?`} sub="The checks of the runbook only read. Their results replace the earlier ones." verb="Check 1 person" reason="optional" onClose={() => open(undefined)}
          act={async (reason) => { const r = (await data(api.POST("/batches/{id}/check", { params: { path }, body: { member: `id:${m.id}`, reason } }))) as Schema<"CheckResult">; done(`${plural(r.checks.length, "check")} started.`); }} />
      )}
    </>
  );
}

function Retry({ batch, member: m, steps, onClose, done }: { batch: number; member: Member; steps: Step[]; onClose(): void; done(text: string): void }) {
  const [from, setFrom] = useState("");
  const own = steps.filter((s) => s.phase === m.failedPhase && !s.rollback && s.kind === "phase");
  const earlier = own.slice(0, own.findIndex((s) => s.step === m.failedStep) + 1);
  return (
    <Repair batch={{ id: batch }} what="retry" of={{ memberIds: [m.id], name: m.display ?? m.memberKey }} from={from || undefined} onClose={onClose} done={done}
      fields={<SelectField label="Begin with" value={from} onValue={setFrom} options={[["", "The failed step, or the first one after a rollback"], ...earlier.map((s) => [s.step, s.step] as const)]} />} />
  );
}

/** The failed step was carried out by hand: its result is what later steps use. */
function MarkDone({ batch, member: m, onClose, done }: { batch: number; member: Member; onClose(): void; done(text: string): void }) {
  const { api } = useShared();
  const [text, setText] = useDraft(`result:${batch}/${m.id}/${m.failedStep}`);
  let result: unknown;
  let wrong = "";
  try {
    result = text.trim() ? JSON.parse(text) : undefined;
  } catch {
    wrong = "This is no JSON. An example: {\"Id\": \"6f1c0f52\"}";
  }
  const send = (more: { dryRun?: boolean; reason?: string }) => data(api.POST("/batches/{id}/mark-done", { params: { path: { id: batch } }, body: { memberIds: [m.id], result, ...more } }));
  return (
    <Confirm title={`Mark ${m.failedStep} as done for ${m.display ?? m.memberKey}?`} sub="The person continues with the next step." verb="Mark 1 step done" reason="required" ready={!wrong} depends={[text]} onClose={onClose}
      fields={<TextField label="Result, as JSON" rows={3} value={text} onValue={setText} error={wrong || undefined} hint="What the function would have returned. Needed if later steps use an output of this one." />}
      preview={async () => (await send({ dryRun: true })).preview}
      act={async (reason) => { await send({ reason }); setText(""); done(`${m.failedStep} is marked as done.`); }} />
  );
}

const ended = ["succeeded", "skipped", "skipped_by_condition", "cancelled"];

/** Shows the step of the address once it is there. */
function useArrival(step: string) {
  const shown = useRef("");
  useEffect(() => {
    const target = step && step !== shown.current && document.getElementById(step);
    if (!target) return;
    shown.current = step;
    target.scrollIntoView({ block: "center" });
  });
}

function Journey({ steps, loaded, phases, member: m, open: wanted }: { steps: Step[]; loaded: boolean; phases: Phase[]; member: Member; open: string }) {
  const [all, setAll] = useState<boolean>();
  const open = steps.some((s) => s.step === wanted) ? wanted : "";
  useArrival(open);
  const anchored = new Set<string>(); // a step of several phases is that of the newest one
  const anchor = (step: string) => {
    const first = !anchored.has(step);
    anchored.add(step);
    return first ? step : undefined;
  };
  const names = [...new Set(steps.map((s) => s.phase))].reverse();
  const ahead = phases.filter((p) => p.kind === "phase" && p.status === "pending" && !names.includes(p.name)).reverse();
  return (
    <Section id="journey" title="Journey" note="newest phase first" end={steps.length > 0 && <button type="button" class="link" onClick={() => setAll(!all)}>{all ? "Close all steps" : "Open all steps"}</button>}>
      {loaded && steps.length === 0 && <p class="empty">No phase has started for this person.</p>}
      {!m.removedAt && ahead.map((p) => (
        <div class="phase-row ahead" key={p.id}><Glyph sign="due" kind="wait" /><b>{p.name}</b><span class="quiet">{p.dueAt ? `due ${dayAndTime(p.dueAt)}` : "when advanced"}</span></div>
      ))}
      {names.map((name) => {
        const own = steps.filter((s) => s.phase === name);
        const failed = own.find((s) => !s.rollback && (s.status === "failed" || s.status === "poll_timeout"));
        const running = own.find((s) => !ended.includes(s.status) && s.status !== "pending");
        const look = lookOf(stepLooks, (failed ?? running ?? own.findLast((s) => !s.rollback) ?? own.at(-1)!).status);
        const phase = phases.findLast((p) => p.name === name);
        const count = own.filter((s) => !s.rollback).length;
        const through = own.filter((s) => !s.rollback && ended.includes(s.status)).length;
        return (
          <section key={name} aria-label={name}>
            <h3 class="phase-row">
              <Glyph sign={look.sign} kind={look.kind} />{name}
              {phase?.dispatchedAt && <span class="quiet"><Time at={phase.dispatchedAt} as="full" /></span>}
              <span class={`end ${failed ? "k-fail" : "quiet"}`}>{failed ? `failed at step ${failed.stepIndex + 1} of ${count}` : `${through} of ${plural(count, "step")}`}</span>
            </h3>
            {own.map((s) => <StepDetails key={`${s.id}/${s.rollback ?? ""}`} step={s} since={phase?.dispatchedAt} anchor={anchor(s.step)} all={all} wanted={open ? open === s.step : s === failed || s === running} />)}
          </section>
        );
      })}
    </Section>
  );
}

/** A step, which opens when it becomes what one looks for, and closes by hand: nothing closes while it is read. */
function StepDetails({ step: s, since, anchor, all, wanted }: { step: Step; since?: string; anchor?: string; all?: boolean; wanted: boolean }) {
  const [open, setOpen] = useState(wanted);
  useEffect(() => { if (wanted) setOpen(true); }, [wanted]);
  useEffect(() => { if (all !== undefined) setOpen(all); }, [all]);
  const at = s.completedAt ?? s.dispatchedAt;
  const took = s.dispatchedAt && s.completedAt ? duration(Date.parse(s.completedAt) - Date.parse(s.dispatchedAt)) : "";
  const attempts = (s.retryCount ?? 0) + 1;
  return (
    <details class="step" open={open} id={anchor} onToggle={(e) => setOpen(e.currentTarget.open)}>
      <summary>
        <Glyph sign={s.rollback ? "undo" : lookOf(stepLooks, s.status).sign} kind={lookOf(stepLooks, s.status).kind} />
        <b>{s.rollback ? `${s.rollback} / ${s.step}` : s.step}</b>
        <span class="quiet func">{s.functionName} on {s.workerId}</span>
        {s.status !== "succeeded" && <span class={`k-${lookOf(stepLooks, s.status).kind}`}>{lookOf(stepLooks, s.status).word}</span>}
        <span class="end quiet">{s.cached ? (s.cached.succeededAt ? "from the cache" : "waits for the cache") : s.pollCount ? plural(s.pollCount, "poll") : s.dispatchedAt ? plural(attempts, "attempt") : ""}</span>
        <span class="at">{at && (since && sameDay(at, since) ? seconds(at) : exactly(at))}</span>
        <span class="took quiet">{took}</span>
      </summary>
      {open && (
        <div>
          <Answers step={s} />
          {s.error && s.status !== "polling" && !expectation(s.error) && !s.attempts?.some((a) => a.error === s.error) && <pre class="well k-fail">{s.error}</pre>}
          {s.when && <p>Only when <code>{s.when}</code></p>}
          {s.cached && <Cached of={s.cached} />}
          {s.retryAfter && s.status === "waiting_for_retry" && !s.cached && <p class="k-warn">Next attempt at {exactly(s.retryAfter)}.</p>}
          {s.attempts && (
            <table class="compact">
              <thead><tr><th>Attempt</th><th>Started</th><th>Took</th><th>Answer of {s.workerId}</th></tr></thead>
              <tbody>
                {s.attempts.map((a, i) => (
                  <tr key={`${a.jobId}/${a.startedAt}`}>
                    <td>{i + 1}{s.maxRetries ? ` of ${s.maxRetries + 1}` : ""}</td><td>{exactly(a.startedAt)}</td><td>{duration(Date.parse(a.endedAt) - Date.parse(a.startedAt))}</td>
                    <td class={a.outcome === "succeeded" ? "" : "k-fail"}>{i > 0 && a.error && a.error === s.attempts![i - 1]!.error ? "The same" : a.error ?? a.outcome}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          )}
          {s.poll && <Polls step={s} />}
          <div class="pair">
            <Values title={s.attempts ? `Parameters of attempt ${attempts}` : "Parameters"} values={s.params} />
            <Values title="Result" values={s.result} />
          </div>
          {s.resolved && <p>{s.status === "skipped" ? "Skipped" : "Marked done"} by {s.resolved.by} {when(s.resolved.at)}{s.resolved.reason && `: “${s.resolved.reason}”`}</p>}
          {s.abandonedJobs?.map((j) => <p key={j.jobId} class="quiet">Job {j.jobId} was abandoned {when(j.abandonedAt)}{j.receivedAt ? `; its result came ${when(j.receivedAt)}` : ""}.</p>)}
          {s.jobId && <p class="quiet mono">job {s.jobId}</p>}
        </div>
      )}
    </details>
  );
}

/** What an answer says that is and that is expected: 'department is "A", expected "B"'. */
function expectation(text: string) {
  const found = /^(?:.*: )?(.+?) is (.+), expected (.+?)\.?$/s.exec(text);
  return found && { what: found[1]!, actual: found[2]!, expected: found[3]! };
}

/** The answers of a step's polls, or of a check, beside what is expected: the last one is the step's error. */
function Answers({ step: s }: { step: Step }) {
  const waits = s.status === "polling";
  const all = (s.poll?.earlierAnswers ?? []).map((a) => ({ text: a.text, at: a.lastAt as string | undefined, last: false }));
  if (s.error && (waits || expectation(s.error))) all.push({ text: s.error, at: s.poll?.lastPolledAt ?? s.completedAt, last: true });
  if (all.length === 0) return null;
  const compared = all.some((a) => expectation(a.text));
  return (
    <table class="compact answer">
      <thead><tr><th>Asked</th>{compared ? <><th>What</th><th>Expected</th><th>Actual</th></> : <th>Answer</th>}<th>State</th></tr></thead>
      <tbody>
        {all.map((a) => {
          const e = expectation(a.text);
          return (
            <tr key={`${a.at}/${a.text}`}>
              <td>{a.at && exactly(a.at)}</td>
              {e ? <><td>{e.what}</td><td class="mono">{e.expected}</td><td class="mono">{e.actual}</td></> : <td colSpan={compared ? 3 : 1}>{a.text}</td>}
              <td class={waits || !a.last ? "quiet" : "k-fail"}>{waits || !a.last ? "not yet" : "not as expected"}</td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}

/** Where the result of a step is from that had no job, or will be. */
function Cached({ of: c }: { of: Schema<"CachedResult"> }) {
  const place = <a href={c.memberId ? href("waves", c.batchId, "people", c.memberId) : href("waves", c.batchId)}>wave {c.batchId}</a>;
  return c.succeededAt ? <p>From the cache: {place} did the work {when(c.succeededAt)}.</p> : <p>Waits for the cache: {place} does the work now.</p>;
}

function Polls({ step: s }: { step: Step }) {
  const p = s.poll!;
  return <p class="quiet">Polled {plural(s.pollCount ?? 0, "time")}, every {duration(p.intervalSeconds * 1000)}, at most for {duration(p.timeoutSeconds * 1000)}{p.lastPolledAt && <>; not complete at {exactly(p.lastPolledAt)}</>}.</p>;
}

function Values({ title, values }: { title: string; values: unknown }) {
  if (values === undefined || values === null) return null;
  const text = JSON.stringify(values, null, 2);
  return <div><h4>{title}</h4><pre class="well">{text.split(JSON.stringify(secret)).map((part, n) => <>{n > 0 && <span class="secret">secret, not shown</span>}{part}</>)}</pre></div>;
}

/** Where else the person is a member. */
function OtherWaves({ batch, member: m, name }: { batch: number; member: Member; name: string }) {
  const { api } = useShared();
  const found = useLive(() => data(api.GET("/find", { params: { query: { text: m.memberKey.slice(0, 200), limit: 20 } } })), [m.memberKey], 60_000);
  const others = found.data?.items.filter((f) => f.batchId !== batch && f.memberKey === m.memberKey) ?? [];
  return (
    <Section id="others" title="In other waves">
      {found.data && others.length === 0 && <p class="quiet">{name} is in no other wave.</p>}
      <ul>{others.map((f) => <li key={f.batchId} class="other"><a href={href("waves", f.batchId, "people", f.memberId)}>{f.batchName ?? `Wave ${f.batchId}`}</a> <Status look={lookOf(memberLooks, f.status)} /></li>)}</ul>
    </Section>
  );
}

