// What would happen if people went through the text of a runbook.
import { useState } from "preact/hooks";
import { ApiError, data, type Schema } from "../api/client";
import { useLive } from "../live";
import { useShared, type Shared } from "../shared";
import { Bar } from "../ui/bar";
import { ErrorBanner } from "../ui/failure";
import { CheckField, SelectField, TextField } from "../ui/fields";
import { toCsv } from "../ui/files";
import { Glyph } from "../ui/glyph";
import { Section } from "../ui/page";
import { dayAndTime, duration, fieldTime, people, plural, sentence, value } from "../ui/text";
import { Time } from "../ui/time";
import { toastError } from "../ui/toast";

const most = 1000; // people that the API simulates

/** The people of a wave as a member CSV, with what they have in their columns. */
async function membersOf({ api }: Shared, batch: number): Promise<string> {
  const rows: Record<string, unknown>[] = [];
  let continuationToken: string | undefined;
  do {
    const page = await data(api.GET("/batches/{id}/members", { params: { path: { id: batch }, query: { limit: 1000, continuationToken } } }));
    rows.push(...page.items.filter((m) => m.status !== "removed").map((m) => m.data));
    continuationToken = page.continuationToken;
  } while (continuationToken && rows.length <= most);
  const columns = [...new Set(rows.flatMap((r) => Object.keys(r)))];
  return toCsv(columns, rows.map((r) => columns.map((c) => value(r[c]))), false);
}

interface Played {
  text: string;
  at: Date;
  of: string;
  result: Schema<"Simulation">;
}

export function SimulationSection({ name, text, ready }: { name: string; text: string; ready: boolean }) {
  const shared = useShared();
  const { api } = shared;
  const waves = useLive(async () => (name ? data(api.GET("/batches", { params: { query: { runbook: name, limit: 50 } } })) : { items: [] }), [name], 30_000);
  const [choice, setOf] = useState<string>(); // the number of a wave, or nothing for a CSV
  const [file, setFile] = useState<{ name: string; text: string }>();
  const [start, setStart] = useState(() => fieldTime(new Date(Math.ceil((Date.now() + 7 * 86_400_000) / 3_600_000) * 3_600_000)));
  const [approve, setApprove] = useState(true);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const [played, setPlayed] = useState<Played>();
  const list = waves.data?.items ?? [];
  const of = choice ?? String(list[0]?.id ?? "");
  const batch = Number(of);
  const chosen = batch ? list.find((b) => b.id === batch)?.name || `Wave ${batch}` : file?.name;
  const can = ready && !busy && chosen !== undefined && !Number.isNaN(Date.parse(start));
  const take = async (input: HTMLInputElement) => {
    const chosen = input.files?.[0];
    if (!chosen) return;
    const content = await chosen.text();
    input.value = ""; // so that the same file can be chosen again
    setFile({ name: chosen.name, text: content });
  };
  const play = async () => {
    setBusy(true);
    setError(undefined);
    try {
      const members = batch ? await membersOf(shared, batch) : file!.text;
      const result = await data(api.POST("/simulate", { body: { yamlContent: text, members, start: new Date(start).toISOString(), approve } }));
      setPlayed({ text, at: new Date(), of: chosen!, result });
    } catch (e) {
      setError(e);
    } finally {
      setBusy(false);
    }
  };
  return (
    <Section id="simulation" title="Simulation" note="Each call succeeds after a second, unless its worker lacks the function. Nothing is called.">
      <div class="simulate-form">
        <SelectField label="People" value={of} onValue={setOf} options={[...list.map((b) => [String(b.id), b.name || `Wave ${b.id}`] as const), ["", "of a CSV file"]]} />
        {!batch && <label class="button file-button"><Glyph sign="upload" />{file ? file.name : "Choose a CSV…"}<input type="file" accept=".csv,text/csv" aria-label="CSV of people to simulate" onChange={(e) => take(e.currentTarget).catch(toastError)} /></label>}
        <TextField label="Start" type="datetime-local" value={start} onValue={setStart} />
        <CheckField label="Approve at once" checked={approve} onValue={setApprove} />
        <button type="button" class="button" aria-disabled={can ? undefined : true} onClick={() => can && void play()}>{busy ? "Simulating…" : played ? "Simulate again" : "Simulate"}</button>
        {!ready && <span class="reason">Simulating waits until the text has no error.</span>}
      </div>
      {error !== undefined && <ErrorBanner error={error} retry={() => void play()} />}
      {error instanceof ApiError && error.problems.length > 0 && <ul class="plain-list">{error.problems.slice(0, 20).map((p) => <li key={p.message}>{sentence(p.message)}</li>)}</ul>}
      {played && <Result played={played} stale={played.text !== text} />}
    </Section>
  );
}

/** The people of a simulated phase by their state; init has none, and counts as one. */
function countsOf(p: Schema<"SimulatedPhase">, members: number) {
  if (p.offset === undefined) return { done: p.status === "completed" ? 1 : 0, run: 0, wait: p.startedAt ? 0 : 1, fail: p.status === "failed" ? 1 : 0, skip: 0 };
  return { done: p.succeeded, run: 0, wait: Math.max(0, members - p.succeeded - p.failed - p.cancelled), fail: p.failed, skip: p.cancelled };
}

function Result({ played: { result: r, of, at }, stale }: { played: Played; stale: boolean }) {
  const jobs = r.functions.reduce((sum, f) => sum + f.jobs, 0);
  const busiest = [...r.functions].sort((a, b) => b.busiestHourJobs - a.busiestHourJobs)[0];
  const failed = r.batches.reduce((sum, b) => sum + (b.failedCount ?? 0), 0);
  const everyone = r.batches.reduce((sum, b) => sum + b.memberCount, 0);
  const late = r.batches.flatMap((b) => b.phases.filter((p) => (p.lateSeconds ?? 0) > 300).map((p) => p.phase));
  return (
    <div role="status">
      <p class="simulate-head">
        <b>{of}</b> <span class="quiet">{people(everyone)}, <Time at={r.beginAt} as="full" /> to <Time at={r.endAt} as="full" />, played at <Time at={at.toISOString()} as="exactly" /></span>
        {stale && <span class="status k-warn grounded"><Glyph sign="wait" />The text has changed since</span>}
        {!stale && (r.complete ? <span class="status k-done grounded"><Glyph sign="done" />All succeed</span> : <span class="status k-fail grounded"><Glyph sign="fail" />{failed > 0 ? `${people(failed)} fail` : "It does not end"}</span>)}
      </p>
      {r.batches.slice(0, 10).map((b) => (
        <div key={b.batchId}>
          {r.batches.length > 1 && <h3 class="more">Wave of {dayAndTime(b.batchStartTime)} <span class="quiet">{people(b.memberCount)}</span></h3>}
          <ol class="simulated">
            {b.phases.map((p) => (
              <li key={p.phase}>
                <div><b>{p.phase}</b><span>{p.startedAt ? duration((p.seconds ?? 0) * 1000) : p.status}</span></div>
                <Bar counts={countsOf(p, b.memberCount)} size="thin" />
                <div class="quiet"><span>{p.startedAt ? dayAndTime(p.startedAt) : p.reason ?? "not started"}</span><span>{p.offset === undefined ? "for the wave" : `${p.succeeded.toLocaleString()} of ${b.memberCount.toLocaleString()}`}</span></div>
              </li>
            ))}
          </ol>
        </div>
      ))}
      {r.batches.length > 10 && <p class="quiet">{r.batches.length - 10} more waves are simulated.</p>}
      <ul class="facts-list">
        <li><Glyph sign="jobs" /><div><b>{plural(jobs, "job")}</b>{busiest && <>, at most <b>{busiest.busiestHourJobs.toLocaleString()} an hour</b> of {busiest.functionName}, from <Time at={busiest.busiestHourAt} as="full" /></>}</div></li>
        {failed > 0 && <li><Glyph sign="fail" kind="fail" /><div><b>{people(failed)} fail</b>: {r.batches.flatMap((b) => b.failedKeys).slice(0, 5).join(", ")}{failed > 5 && ` and ${failed - 5} others`}</div></li>}
        {late.length > 0 && <li><Glyph sign="warning" kind="warn" /><div>Late: {late.join(", ")}</div></li>}
        {r.remaining.map((t) => <li key={t}><Glyph sign="wait" kind="warn" /><div>{sentence(t)}</div></li>)}
        {r.warnings.map((t) => <li key={t}><Glyph sign="warning" kind="warn" /><div>{sentence(t)}</div></li>)}
        <li><Glyph sign="due" /><div><details><summary>Timeline, {plural(r.events.length, "event")}</summary>
          <div class="grid-scroll short" tabIndex={0} role="region" aria-label="Timeline of the simulation">
            <table class="cards"><thead><tr><th>Time</th><th>Phase</th><th>What happens</th></tr></thead>
              <tbody>{r.events.map((e, n) => <tr key={n}><td data-label="Time"><Time at={e.at} as="full" /></td><td data-label="Phase">{e.phase ?? <span class="quiet">–</span>}</td><td data-label="What happens">{sentence(e.text)}</td></tr>)}</tbody></table>
          </div>
        </details></div></li>
      </ul>
    </div>
  );
}
