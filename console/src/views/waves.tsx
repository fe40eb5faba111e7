import { data, type Schema } from "../api/client";
import { href, setQuery, type Place } from "../router";
import { useShared } from "../shared";
import { FilterTabs, FilterText } from "../ui/fields";
import { List } from "../ui/list";
import { Head } from "../ui/page";
import { usePages } from "../ui/pages";
import { batchLooks, Status } from "../ui/status";
import { Time } from "../ui/time";
import { inUTC } from "../ui/text";
import { WaitingReason } from "./waiting";

const shows: [string, string, Schema<"BatchStatus"> | undefined][] = [
  ["", "All", undefined], ["active", "Active", "active"], ["detected", "Not started", "detected"], ["failed", "Failed", "failed"], ["completed", "Completed", "completed"], ["cancelled", "Cancelled", "cancelled"],
];

/** All batches, with filters in the address. */
export function Waves({ place }: { place: Place }) {
  const { api } = useShared();
  const { query } = place;
  const show = query.get("show") ?? "";
  const status = shows.find(([name]) => name === show)?.[2];
  const sort = (query.get("sort") ?? "-id") as Schema<"BatchSort">;
  const [search, runbook, owner] = ["q", "runbook", "owner"].map((name) => query.get(name) || undefined);
  const filter = { status: status ? [status] : undefined, sort, search, runbook, owner };
  const pages = usePages((continuationToken) => data(api.GET("/batches", { params: { query: { ...filter, limit: 50, continuationToken } } })), (b) => b.id, [JSON.stringify(filter)]);
  const filtered = status || search || runbook || owner;
  return (
    <>
      <Head title="Waves" sub="A wave is a batch of people who move together. The address of this page keeps what you filter." />
      <div class="filters">
        <FilterTabs label="Status" name="show" value={show} options={shows.map(([name, title]) => [name, title])} />
        <FilterText label="Runbook begins with" name="q" value={search ?? ""} />
        {(runbook || owner) && <button class="button small" onClick={() => setQuery({ runbook: undefined, owner: undefined })}>{runbook ? `Runbook ${runbook}` : `Owner ${owner}`} ×</button>}
      </div>
      <List label="Waves" pages={pages} keyOf={(b) => b.id} open={(b) => href("waves", b.id)} sort={sort}
        empty={filtered ? "No wave fits this filter." : "There is no wave yet. A wave is a batch of people: create one with matoolkit batch create, or let a data source list them."}
        columns={[
          { title: "Wave", sort: "id", cell: (b) => <><a href={href("waves", b.id)}><b>{b.name || `Wave ${b.id}`}</b></a><span class="sub">{b.name ? `Number ${b.id}` : ""}</span></> },
          { title: "Runbook", sort: "runbook", wide: true, cell: (b) => <>{b.runbook}<span class="sub">version {b.runbookVersion}</span></> },
          { title: "Start", sort: "batchStartTime", wide: true, width: "150px", cell: (b) => (b.batchStartTime ? <><Time at={b.batchStartTime} full /><span class="sub">{inUTC(b.batchStartTime)}</span></> : <span class="quiet">when advanced</span>) },
          { title: "Status", cell: (b) => <><BatchStatus batch={b} /><span class="sub">{b.waitingReason && <WaitingReason reason={b.waitingReason} />}</span></> },
          { title: "People", sort: "memberCount", number: true, wide: true, width: "80px", cell: (b) => (b.memberCount - (b.removedCount ?? 0)).toLocaleString() },
          { title: "Failed", number: true, width: "70px", cell: (b) => (b.failedCount ? <b class="k-fail">{b.failedCount.toLocaleString()}</b> : <span class="quiet">0</span>) },
          { title: "Owner", wide: true, width: "130px", cell: (b) => b.owner },
        ]} />
    </>
  );
}

export function BatchStatus({ batch: b, grounded }: { batch: Schema<"Batch">; grounded?: boolean }) {
  const look = batchLooks[b.status];
  if (b.paused) return <Status look={{ kind: "warn", sign: "pause", word: "Paused" }} grounded={grounded} />;
  if (b.status === "completed" && b.failedCount) return <Status look={{ kind: "fail", sign: "done", word: "Completed with failures" }} grounded={grounded} />;
  return <Status look={look} grounded={grounded} text={b.status === "active" && b.currentPhase ? `${look.word}: ${b.currentPhase}` : undefined} />;
}
