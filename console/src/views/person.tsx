import { data, type Schema } from "../api/client";
import { useLive } from "../live";
import { href, type Place } from "../router";
import { useShared } from "../shared";
import { Failure } from "../ui/failure";
import { Glyph } from "../ui/glyph";
import { memberLooks, Status, stepLooks } from "../ui/status";
import { duration, seconds, value, when } from "../ui/text";

/** One member: what is known of them, and every step of their way, the newest phase first. */
export function Person({ batch, member, place }: { batch: number; member: number; place: Place }) {
  const { api } = useShared();
  const person = useLive(() => data(api.GET("/batches/{id}/members/{member}", { params: { path: { id: batch, member: String(member) } } })), [batch, member]);
  const steps = useLive(
    () => data(api.GET("/batches/{id}/steps", { params: { path: { id: batch }, query: { member: String(member), limit: 200, include: ["params", "result"] } } })), [batch, member]);
  if (person.error && !person.data) return <Failure title="This person cannot be shown" error={person.error} retry={person.reload} />;
  const m = person.data;
  if (!m) return <div class="skeleton" style={{ height: "320px" }} aria-busy="true" />;
  return (
    <>
      <p class="crumb"><a href={href("waves")}>Waves</a> / <a href={href("waves", batch)}>Wave {batch}</a> /</p>
      <div class="head"><div class="title"><h1>{m.display ?? m.memberKey}</h1><Status look={memberLooks[m.status]} grounded /></div></div>
      <div class="facts">
        {m.display && <span>{m.memberKey}</span>}
        {m.phase && <span>Phase <b>{m.phase}</b></span>}
        <span>Added {when(m.addedAt)}</span>
      </div>
      {m.error && <div class="notice fail"><Glyph sign="fail" />{m.failedStep && <b>{m.failedStep}</b>} {m.error}</div>}
      <div class="split">
        <Journey steps={steps.data?.items ?? []} open={place.hash} />
        <Data member={m} />
      </div>
    </>
  );
}

function Journey({ steps, open }: { steps: Schema<"Step">[]; open: string }) {
  const phases = [...new Set(steps.map((s) => s.phase))].reverse();
  return (
    <section class="block" aria-labelledby="journey">
      <header><h2 id="journey">Steps</h2></header>
      {steps.length === 0 && <p class="empty">No phase has started for this person.</p>}
      <ol class="timeline">
        {phases.map((phase) => {
          const own = steps.filter((s) => s.phase === phase);
          const failed = own.find((s) => s.status === "failed" || s.status === "poll_timeout");
          const running = own.find((s) => !["succeeded", "skipped", "skipped_by_condition", "pending", "cancelled"].includes(s.status));
          const look = stepLooks[(failed ?? running ?? own.at(-1)!).status];
          return (
            <li key={phase}>
              <Glyph sign={look.sign} kind={look.kind} />
              <h3 class="phase">{phase}</h3>
              {own.map((s) => <StepDetails key={s.id} step={s} open={open ? open === s.step : s === failed} />)}
            </li>
          );
        })}
      </ol>
    </section>
  );
}

function StepDetails({ step: s, open }: { step: Schema<"Step">; open: boolean }) {
  const took = s.dispatchedAt && s.completedAt ? duration(Date.parse(s.completedAt) - Date.parse(s.dispatchedAt)) : "";
  return (
    <details class="step" open={open} id={s.step}>
      <summary>
        <Status look={stepLooks[s.status]} />
        <b>{s.rollback ? `${s.rollback} / ${s.step}` : s.step}</b>
        <span class="quiet">{s.functionName}</span>
        <span class="quiet end">{s.completedAt ? seconds(s.completedAt) : s.dispatchedAt && seconds(s.dispatchedAt)} {took}</span>
      </summary>
      <div>
        {s.error && <pre class="well k-fail">{s.error}</pre>}
        {s.when && <p>When <code>{s.when}</code></p>}
        {s.retryAfter && <p>Next attempt at {seconds(s.retryAfter)}.</p>}
        {s.poll && <p>Asked {s.pollCount ?? 0} times, every {duration(s.poll.intervalSeconds * 1000)}, at most {duration(s.poll.timeoutSeconds * 1000)}.</p>}
        {s.attempts && (
          <table>
            <thead><tr><th>Attempt</th><th>Started</th><th>Ended</th><th>Outcome</th></tr></thead>
            <tbody>{s.attempts.map((a, i) => <tr key={a.jobId}><td>{i + 1}</td><td>{when(a.startedAt)}</td><td>{when(a.endedAt)}</td><td>{a.outcome}{a.error && <span class="sub">{a.error}</span>}</td></tr>)}</tbody>
          </table>
        )}
        <Values title="Parameters" values={s.params} />
        <Values title="Result" values={s.result} />
        {s.resolved && <p>{s.status === "skipped" ? "Skipped" : "Marked done"} by {s.resolved.by} {when(s.resolved.at)}{s.resolved.reason && `: ${s.resolved.reason}`}</p>}
        <p class="quiet mono">{s.workerId}{s.jobId && ` · job ${s.jobId}`}</p>
      </div>
    </details>
  );
}

function Values({ title, values }: { title: string; values: unknown }) {
  if (values === undefined || values === null) return null;
  return <div><h4>{title}</h4><pre class="well">{JSON.stringify(values, null, 2)}</pre></div>;
}

function Data({ member: m }: { member: Schema<"Member"> }) {
  const rows = (values: Record<string, unknown> | undefined) =>
    Object.entries(values ?? {}).map(([name, v]) => (
      <tr key={name}><th scope="row">{name}</th><td>{value(v)}{m.overrides?.[name] && <span class="sub">Corrected by {m.overrides[name].by}; the source has {value(m.overrides[name].sourceValue) || "no value"}</span>}</td></tr>
    ));
  return (
    <section class="block" aria-labelledby="data">
      <header><h2 id="data">Data</h2></header>
      <table><tbody>{rows(m.data)}</tbody></table>
      {m.workerData && Object.keys(m.workerData).length > 0 && <><h2 class="more">Outputs</h2><table><tbody>{rows(m.workerData)}</tbody></table></>}
    </section>
  );
}
