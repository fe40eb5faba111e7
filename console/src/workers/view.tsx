// The workers: alive or not, what waits for them, what they do, and what they can do.
import { useEffect, useRef, useState } from "preact/hooks";
import { data, type Schema } from "../api/client";
import { useLive } from "../live";
import { go, href, type Place } from "../router";
import { useShared } from "../shared";
import { ErrorBanner } from "../ui/failure";
import { FilterText } from "../ui/fields";
import { Glyph } from "../ui/glyph";
import { List } from "../ui/list";
import { Head, Section } from "../ui/page";
import { usePages } from "../ui/pages";
import { lookOf, Status, workerLooks } from "../ui/status";
import { dayAndTime, duration, plural, when } from "../ui/text";
import { Time } from "../ui/time";

type Worker = Schema<"Worker">;

/** The time now, anew each second: for ages and times left. */
function useNow(): number {
  const [now, set] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => set(Date.now()), 1000);
    return () => clearInterval(timer);
  }, []);
  return now;
}

const day = 86_400_000;
const warnDays = 30; // before a credential expires
const age = (at: string, now: number) => `${duration(now - Date.parse(at))} ago`;
const slots = (w: Worker) => (w.replicas ?? []).filter((r) => r.state === "alive").reduce((sum, r) => sum + r.maxParallelism, 0);
const away = (w: Worker) => w.state === "silent" || w.state === "gone";
const throttled = (w: Worker, now: number) => w.throttledUntil !== undefined && Date.parse(w.throttledUntil) > now;
const expiresSoon = (w: Worker, now: number) => w.credentialExpiresAt !== undefined && Date.parse(w.credentialExpiresAt) - now < warnDays * day;
const order: Record<Worker["state"], number> = { silent: 0, gone: 0, alive: 1, scaled_to_zero: 2 };

export function Workers({ place }: { place: Place }) {
  const { api } = useShared();
  const now = useNow();
  const id = place.path[1];
  const search = (place.query.get("q") ?? "").toLowerCase();
  const pages = usePages(async (continuationToken) => {
    const page = await data(api.GET("/workers", { params: { query: { limit: 200, continuationToken } } }));
    // Those that need someone come first.
    return { ...page, items: [...page.items].sort((a, b) => order[a.state] - order[b.state] || Number(b.throttledUntil !== undefined) - Number(a.throttledUntil !== undefined)) };
  }, (w) => w.id, [], 1500);
  const all = pages.items;
  const shown = search ? { ...pages, items: all.filter((w) => w.id.toLowerCase().includes(search)) } : pages;
  const count = (state: Worker["state"], word: string) => {
    const n = all.filter((w) => w.state === state).length;
    return n > 0 && `${n} ${word}`;
  };
  const summary = [count("alive", "alive"), count("silent", "silent"), count("gone", "gone"), count("scaled_to_zero", "scaled to zero")].filter(Boolean).join(", ");
  const queued = all.reduce((sum, w) => sum + w.jobsQueued, 0);
  const inFlight = all.reduce((sum, w) => sum + w.jobsInFlight, 0);
  return (
    <>
      <Head title="Workers" sub={all.length > 0 ? `${summary}. ${plural(queued, "job")} ${queued === 1 ? "is" : "are"} queued and ${inFlight.toLocaleString()} in flight.` : "Workers call the tenants for the steps of runbooks."} />
      {all.filter(away).map((w) => (
        <p class="notice" key={w.id}><Glyph sign="silent" /><span><b>{w.id} {w.lastSeenAt ? <>has sent no heartbeat since {when(w.lastSeenAt)}.</> : "has never sent a heartbeat."}</b> {plural(w.jobsQueued, "job")} {w.jobsQueued === 1 ? "waits" : "wait"} for it{w.jobsInFlight > 0 && `, ${w.jobsInFlight} in flight`}. Jobs that have not started wait until it is back.</span><a href={href("workers", w.id)}>Open {w.id}</a></p>
      ))}
      {all.filter((w) => expiresSoon(w, now)).map((w) => <ExpiryNotice key={`expiry-${w.id}`} worker={w} now={now} />)}
      {all.length > 8 && <div class="filters"><FilterText label="Worker" name="q" value={search} /></div>}
      <div class={id === undefined ? "" : "with-panel"}>
        <List label="Workers" pages={shown} keyOf={(w) => w.id} open={(w) => href("workers", w.id)} empty={search ? "No worker has such an id." : "No worker has announced itself. Start one: it appears here within a minute."}
          columns={[
            { title: "Worker", cell: (w) => <><a href={href("workers", w.id)} aria-current={w.id === id ? "true" : undefined}><b>{w.id}</b></a><span class="sub">{w.functionCount > 0 ? plural(w.functionCount, "function") : "not announced"}{w.version && ` · ${w.version}`}</span></> },
            { title: "State", width: "130px", cell: (w) => <><Status look={lookOf(workerLooks, w.state)} /><span class="sub">{throttled(w, now) ? `throttled until ${when(w.throttledUntil!)}` : w.lastSeenAt ? age(w.lastSeenAt, now) : "never seen"}</span></> },
            { title: "Queue", number: true, width: "70px", cell: (w) => (w.jobsQueued ? <><b>{w.jobsQueued.toLocaleString()}</b>{w.oldestQueuedAt && <span class="sub">{duration(now - Date.parse(w.oldestQueuedAt))}</span>}</> : <span class="quiet">0</span>) },
            { title: "In flight", wide: true, width: "120px", cell: (w) => <InFlight worker={w} /> },
            { title: "Rate", number: true, wide: true, width: "80px", cell: (w) => <>{(w.jobsPerMinute ?? 0).toLocaleString()}<span class="sub">a minute</span></> },
            { title: "Throttled until", wide: true, width: "120px", cell: (w) => (throttled(w, now) ? <><span class="status k-warn"><Glyph sign="hourglass" />{when(w.throttledUntil!)}</span><span class="sub">{duration(Date.parse(w.throttledUntil!) - now)} left</span></> : <span class="quiet">–</span>) },
            { title: "Credential expires", wide: true, width: "150px", cell: (w) => <Expiry worker={w} now={now} /> },
          ]} />
        {id !== undefined && <Panel key={id} id={id} now={now} />}
      </div>
      <p class="quiet footnote">Alive: a heartbeat within two minutes. Silent or gone: jobs wait, and no heartbeat comes. Scaled to zero: no job waits, or it starts now.</p>
    </>
  );
}

function InFlight({ worker: w }: { worker: Worker }) {
  const of = slots(w);
  if (of === 0) return w.jobsInFlight > 0 ? <>{w.jobsInFlight}</> : <span class="quiet">–</span>;
  return (
    <span class="meter-row">{w.jobsInFlight} of {of}
      <svg class="meter" viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true"><rect class="s-wait" width="100" height="6" rx="3" /><rect class="s-run" width={Math.min(100, (100 * w.jobsInFlight) / of)} height="6" rx="3" /></svg>
    </span>
  );
}

function Expiry({ worker: w, now }: { worker: Worker; now: number }) {
  if (!w.credentialExpiresAt) return <span class="quiet">–</span>;
  const left = Date.parse(w.credentialExpiresAt) - now;
  const text = left < 0 ? "expired" : left < day ? `in ${duration(left)}` : `in ${plural(Math.floor(left / day), "day")}`;
  return <>{left < warnDays * day ? <span class="status k-warn"><Glyph sign="warning" />{text}</span> : text}<span class="sub">{new Date(w.credentialExpiresAt).toLocaleDateString(undefined, { day: "numeric", month: "short", year: "numeric" })}</span></>;
}

function ExpiryNotice({ worker: w, now }: { worker: Worker; now: number }) {
  const left = Date.parse(w.credentialExpiresAt!) - now;
  return (
    <p class={`notice ${left < 0 ? "fail" : ""}`}><Glyph sign="warning" /><span><b>The credential of {w.id} {left < 0 ? "expired" : left < day ? `expires in ${duration(left)}` : `expires in ${plural(Math.floor(left / day), "day")}`}</b>, on {dayAndTime(w.credentialExpiresAt!)}. Put the new one into the key vault: the worker takes it within an hour.</span></p>
  );
}

/** All that is known of one worker. */
function Panel({ id, now }: { id: string; now: number }) {
  const { api } = useShared();
  const worker = useLive(() => data(api.GET("/workers/{id}", { params: { path: { id } } })), [id], 1500);
  const [search, setSearch] = useState("");
  const w = worker.data;
  const panel = useRef<HTMLElement>(null);
  useEffect(() => panel.current!.focus({ preventScroll: true }), []);
  const functions = (w?.functions ?? []).filter((f) => f.name.toLowerCase().includes(search.toLowerCase()));
  return (
    <aside ref={panel} tabIndex={-1} class="side-panel" aria-label={`Worker ${id}`}>
      <header>
        <h2>{id}</h2>{w && <Status look={lookOf(workerLooks, w.state)} />}
        <button type="button" class="icon-button end" aria-label="Close" onClick={() => go(href("workers"))}><Glyph sign="close" /></button>
      </header>
      {worker.error && <ErrorBanner error={worker.error} retry={worker.reload} />}
      {!w && !worker.error && <div class="skeleton tall" aria-busy="true" />}
      {w && <>
        {w.problem && <p class="notice fail"><Glyph sign="fail" />{w.problem}</p>}
        <dl class="pairs">
          <div><dt>Last seen</dt><dd>{w.lastSeenAt ? <><Time at={w.lastSeenAt} as="exactly" /> <span class="quiet">{age(w.lastSeenAt, now)}</span></> : "never"}</dd></div>
          {w.version && <div><dt>Version</dt><dd>{w.version}</dd></div>}
          <div><dt>Queue</dt><dd>{plural(w.jobsQueued, "job")}{w.oldestQueuedAt && <span class="quiet">, the oldest since {when(w.oldestQueuedAt)}</span>}</dd></div>
          <div><dt>In flight</dt><dd>{plural(w.jobsInFlight, "job")}{w.oldestJobAt && <span class="quiet">, the oldest for {duration(now - Date.parse(w.oldestJobAt))}</span>}</dd></div>
          <div><dt>Rate</dt><dd>{(w.jobsPerMinute ?? 0).toLocaleString()} a minute</dd></div>
          <div><dt>Throttled</dt><dd>{w.throttledUntil && Date.parse(w.throttledUntil) > now ? <span class="status k-warn"><Glyph sign="hourglass" />until {when(w.throttledUntil)}</span> : "no"}</dd></div>
          <div><dt>Credential</dt><dd>{w.credentialExpiresAt ? <>expires {dayAndTime(w.credentialExpiresAt)}</> : "no expiry known"}</dd></div>
        </dl>
        {w.replicas && w.replicas.length > 0 && (
          <Section id="replicas" title="Replicas" count={w.replicas.length}>
            <ul class="facts-list">
              {w.replicas.map((r) => (
                <li key={r.id}>
                  <Glyph sign={r.state === "alive" ? "done" : r.state === "silent" ? "silent" : "skip"} kind={r.state === "alive" ? "done" : r.state === "silent" ? "warn" : "skip"} />
                  <div><b>{r.state === "alive" ? "Alive" : r.state === "silent" ? "Silent" : "Stopped"}</b>, {r.jobsInFlight} of {r.maxParallelism} in flight<span class="sub">{r.id.slice(0, 8)}… · started <Time at={r.startedAt} /> · {age(r.lastSeenAt, now)}</span></div>
                </li>
              ))}
            </ul>
          </Section>
        )}
        <Section id="functions" title="Functions" count={w.functionCount}>
          {(w.functions?.length ?? 0) > 10 && <input type="search" aria-label="Filter functions" placeholder="Filter functions" value={search} onInput={(e) => setSearch(e.currentTarget.value)} />}
          {w.functionCount === 0 && <p class="empty">It has not announced its functions: publishing cannot check steps that call it.</p>}
          <div class="functions">
            {functions.map((f) => (
              <details key={f.name}>
                <summary><code>{f.name}</code>{f.readOnly && <span class="count">reads</span>}</summary>
                {f.description && <p>{f.description}</p>}
                <ul>
                  {f.params.map((p) => <li key={p.name}><code>{p.name}</code> <span class="quiet">{[p.type, p.required ? "required" : "optional", p.secret && "secret"].filter(Boolean).join(", ")}</span>{p.description && <span class="sub">{p.description}</span>}</li>)}
                  {f.result?.map((r) => <li key={`result-${r.name}`}>→ <code>{r.name}</code>{r.description && <span class="sub">{r.description}</span>}</li>)}
                </ul>
                {f.permissions && f.permissions.length > 0 && <p class="sub">Needs {f.permissions.join(", ")}</p>}
              </details>
            ))}
          </div>
        </Section>
      </>}
    </aside>
  );
}
