import { data, type Schema } from "../api/client";
import { go, href, setQuery, type Place } from "../router";
import { usePermit, useShared } from "../shared";
import { ActionButton } from "../ui/action";
import { Bar, type Counts } from "../ui/bar";
import { FilterTabs, FilterText } from "../ui/fields";
import { Filters } from "../ui/filters";
import { Glyph } from "../ui/glyph";
import { List } from "../ui/list";
import { Head } from "../ui/page";
import { usePages } from "../ui/pages";
import { lookOf, batchLooks, shadowLook, Status, waitingLooks } from "../ui/status";
import { inUTC, people } from "../ui/text";
import { Time } from "../ui/time";
import { WaitingReason } from "./waiting";

type Batch = Schema<"Batch">;

const shows: [string, string, Schema<"BatchStatus">[] | undefined][] = [
  ["", "All", undefined], ["running", "Running", ["init_dispatched", "active", "cancelling"]], ["waiting", "Not started", ["detected"]], ["ended", "Ended", ["completed", "failed", "cancelled"]],
];

/** All batches, with filters in the address. */
export function Waves({ place }: { place: Place }) {
  const { api, summary } = useShared();
  const permit = usePermit("administer");
  const { query } = place;
  const show = query.get("show") ?? "";
  const status = shows.find(([name]) => name === show)?.[2];
  const sort = (query.get("sort") ?? "-id") as Schema<"BatchSort">;
  const [search, runbook, owner] = ["q", "runbook", "owner"].map((name) => query.get(name) || undefined);
  const filter = { status, sort, search, runbook, owner };
  const pages = usePages((continuationToken) => data(api.GET("/batches", { params: { query: { ...filter, limit: 50, continuationToken } } })), (b) => b.id, [JSON.stringify(filter)]);
  const filtered = status || search || runbook || owner;
  const running = new Map(summary.data?.running.map((r) => [r.batchId, r]));
  return (
    <>
      <Head title="Waves" sub="The address of this page keeps what you filter."
        actions={<ActionButton kind="primary" permit={permit} onClick={() => go(href("waves", "new", { runbook }))}><Glyph sign="plus" /> New wave from a CSV…</ActionButton>} />
      <Filters active={[status, search, runbook, owner].filter(Boolean).length}>
        <FilterTabs label="Status" name="show" value={show} options={shows.map(([name, title]) => [name, title])} />
        <span class="filters-end">
          {runbook && <button class="button small" onClick={() => setQuery({ runbook: undefined })}>Runbook {runbook} <Glyph sign="close" /></button>}
          {owner && <button class="button small" onClick={() => setQuery({ owner: undefined })}>Owner {owner} <Glyph sign="close" /></button>}
          <FilterText label="Runbook begins with" name="q" value={search ?? ""} />
        </span>
      </Filters>
      <List label="Waves" pages={pages} keyOf={(b) => b.id} open={(b) => href("waves", b.id)} sort={sort}
        empty={filtered ? "No wave fits this filter." : <>There is no wave yet. A wave is a batch of people who move together.<a class="button" href={href("waves", "new")}>Make a wave from a CSV</a></>}
        columns={[
          { title: "Wave", sort: "id", width: "22%", cell: (b) => <><a href={href("waves", b.id)}><b>{b.name || `Wave ${b.id}`}</b></a><span class="sub">{b.name ? `Wave ${b.id} · ` : ""}{people(b.memberCount - (b.removedCount ?? 0))} · {b.runbook} v{b.runbookVersion}</span></> },
          { title: "Status", cell: (b) => <><BatchStatus batch={b} /> <Shadow batch={b} /><span class="sub">{b.currentPhase}</span></> },
          { title: "Progress", wide: true, width: "16%", cell: (b) => <Progress batch={b} running={running.get(b.id)} /> },
          { title: "Failed", number: true, width: "66px", cell: (b) => { const n = running.get(b.id)?.failed || b.failedCount; return n ? <b class="k-fail">{n.toLocaleString()}</b> : <span class="quiet">–</span>; } },
          { title: "Waits for", wide: true, width: "20%", cell: (b) => (b.waitingReason ? <WaitingReason reason={b.waitingReason} /> : <span class="quiet">–</span>) },
          { title: "Start", sort: "batchStartTime", wide: true, width: "150px", cell: (b) => (b.batchStartTime ? <><Time at={b.batchStartTime} as="full" /><span class="sub">{inUTC(b.batchStartTime)}</span></> : <span class="quiet">when advanced</span>) },
          { title: "Owner", wide: true, width: "12%", cell: (b) => (b.owner ? <a href={href("waves", { owner: b.owner })}>{b.owner}</a> : "") },
        ]} />
    </>
  );
}

/** The members of a wave by their state: of the phase that runs, otherwise of all phases that have ended. */
function Progress({ batch: b, running: r }: { batch: Batch; running?: Schema<"RunningPhase"> }) {
  const all = b.memberCount - (b.removedCount ?? 0);
  const failed = b.failedCount ?? 0;
  const ended = b.status === "completed" || b.status === "failed" || b.status === "cancelled";
  const counts: Counts = r
    ? { done: r.succeeded, run: r.running, wait: 0, fail: r.failed, skip: r.cancelled }
    : { done: b.status === "completed" ? all - failed : 0, run: 0, wait: b.status === "completed" ? 0 : all - failed, fail: failed, skip: 0 };
  const text = r ? `${(r.succeeded + r.failed + r.cancelled).toLocaleString()} of ${r.members.toLocaleString()} in ${r.phase}` : ended ? `${(all - failed).toLocaleString()} of ${all.toLocaleString()}` : b.currentPhase ? `after ${b.currentPhase}` : "";
  return <><Bar counts={counts} /><span class="sub">{text}</span></>;
}

/** Marks a batch that is only compared with another orchestrator. */
export function Shadow({ batch: b, grounded }: { batch: Batch; grounded?: boolean }) {
  return b.shadow ? <Status look={shadowLook} grounded={grounded} /> : null;
}

export function BatchStatus({ batch: b, grounded }: { batch: Batch; grounded?: boolean }) {
  const look = lookOf(batchLooks, b.status);
  if (b.paused) return <Status look={{ kind: "warn", sign: "pause", word: "Paused" }} grounded={grounded} />;
  if (b.status === "completed" && b.failedCount) return <Status look={{ kind: "fail", sign: "done", word: "Completed with failures" }} grounded={grounded} />;
  const waits = b.status === "active" && b.waitingReason && waitingLooks[b.waitingReason.code];
  if (waits) return <Status look={waits} grounded={grounded} />;
  return <Status look={look} grounded={grounded} text={grounded && b.status === "active" && b.currentPhase ? `${look.word}: ${b.currentPhase}` : undefined} />;
}
