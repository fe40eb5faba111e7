import { useShared } from "../app";
import { data, type Schema } from "../api/client";
import { href, setQuery, type Place } from "../router";
import { batchLooks, Status } from "../ui/status";
import { dayAndTime, inUTC } from "../ui/text";
import { usePages } from "./pages";
import { WaitingReason } from "./waiting";

const shows: [string, string, Schema<"BatchStatus"> | undefined][] = [
  ["", "All", undefined], ["active", "Active", "active"], ["detected", "Not started", "detected"], ["failed", "Failed", "failed"], ["completed", "Completed", "completed"], ["cancelled", "Cancelled", "cancelled"],
];

const sorts: Schema<"BatchSort">[] = ["-id", "id", "batchStartTime", "-batchStartTime", "runbook", "-runbook", "memberCount", "-memberCount"];

/** All batches, with filters in the address. */
export function Waves({ place }: { place: Place }) {
  const { api } = useShared();
  const { query } = place;
  const show = query.get("show") ?? "";
  const status = shows.find(([name]) => name === show)?.[2];
  const sort = sorts.find((s) => s === query.get("sort")) ?? "-id";
  const [search, runbook, owner] = ["q", "runbook", "owner"].map((name) => query.get(name) || undefined);
  const filter = { status, sort, search, runbook, owner };
  const pages = usePages(
    (continuationToken) => data(api.GET("/batches", { params: { query: { ...filter, limit: 50, continuationToken } } })),
    [JSON.stringify(filter)],
  );
  const header = (name: string, title: string, number = false) => {
    const order = sort === name ? "ascending" : sort === `-${name}` ? "descending" : undefined;
    return (
      <th class={number ? "number" : ""} aria-sort={order}>
        <button class="sort" onClick={() => setQuery({ sort: order === "ascending" ? `-${name}` : name })}>{title}{order && (order === "ascending" ? " ↑" : " ↓")}</button>
      </th>
    );
  };
  return (
    <>
      <div class="head"><h1>Waves</h1></div>
      <div class="filters">
        <div class="tabs" role="group" aria-label="Status">
          {shows.map(([name, title]) => <button aria-pressed={show === name} onClick={() => setQuery({ show: name })}>{title}</button>)}
        </div>
        <input type="search" aria-label="Search name, runbook and owner" placeholder="Name, runbook or owner" value={search ?? ""} onInput={(e) => setQuery({ q: e.currentTarget.value })} />
        {(runbook || owner) && <button class="button small" onClick={() => setQuery({ runbook: undefined, owner: undefined })}>{runbook ? `Runbook ${runbook}` : `Owner ${owner}`} ×</button>}
      </div>
      {pages.data && pages.items.length === 0 && (
        <p class="empty">{search || status || runbook || owner ? "No wave fits this filter." : "There is no wave yet. A wave is a batch of people: create one with matoolkit batch create, or let a data source list them."}</p>
      )}
      {pages.items.length > 0 && (
        <div class="grid-scroll">
          <table>
            <thead><tr>{header("id", "Wave")}{header("runbook", "Runbook")}{header("batchStartTime", "Start")}<th>Status</th>{header("memberCount", "People", true)}<th class="number">Failed</th><th>Owner</th></tr></thead>
            <tbody>{pages.items.map((b) => <Row key={b.id} batch={b} />)}</tbody>
          </table>
        </div>
      )}
      {pages.more && <button class="button" onClick={pages.more}>Show more</button>}
    </>
  );
}

function Row({ batch: b }: { batch: Schema<"Batch"> }) {
  return (
    <tr>
      <td><a href={href("waves", b.id)}><b>{b.name || `Wave ${b.id}`}</b></a><span class="sub">{b.name ? `Number ${b.id}` : ""}</span></td>
      <td>{b.runbook}<span class="sub">version {b.runbookVersion}</span></td>
      <td>{b.batchStartTime ? <>{dayAndTime(b.batchStartTime)}<span class="sub">{inUTC(b.batchStartTime)}</span></> : <span class="quiet">when advanced</span>}</td>
      <td><BatchStatus batch={b} />{b.waitingReason && <span class="sub"><WaitingReason reason={b.waitingReason} /></span>}</td>
      <td class="number">{(b.memberCount - (b.removedCount ?? 0)).toLocaleString()}</td>
      <td class="number">{b.failedCount ? <b class="k-fail">{b.failedCount.toLocaleString()}</b> : <span class="quiet">0</span>}</td>
      <td>{b.owner}</td>
    </tr>
  );
}

export function BatchStatus({ batch: b, grounded }: { batch: Schema<"Batch">; grounded?: boolean }) {
  const look = batchLooks[b.status];
  if (b.paused) return <Status look={{ kind: "warn", sign: "pause", word: "Paused" }} grounded={grounded} />;
  if (b.status === "completed" && b.failedCount) return <Status look={{ kind: "fail", sign: "done", word: "Completed with failures" }} grounded={grounded} />;
  return <Status look={look} grounded={grounded} text={b.status === "active" && b.currentPhase ? `${look.word}: ${b.currentPhase}` : undefined} />;
}
