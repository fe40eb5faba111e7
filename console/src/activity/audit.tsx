// Audit records: of everything, of a runbook, or of unprocessable messages.
import { useRef, useState } from "preact/hooks";
import { data, type Schema } from "../api/client";
import { useRepeated } from "../live";
import { go, href, setQuery, type Place } from "../router";
import { usePermit, useShared, type Shared } from "../shared";
import { Dialog } from "../ui/dialog";
import { FilterSelect, FilterText } from "../ui/fields";
import { saveText, toCsv } from "../ui/files";
import { Filters } from "../ui/filters";
import { Glyph } from "../ui/glyph";
import { List } from "../ui/list";
import { useHolders, type Pages } from "../ui/pages";
import { dayOf, plural, sameDay } from "../ui/text";
import { Time } from "../ui/time";
import { toast, toastError } from "../ui/toast";
import { actionNames, doneTo, isRead, objectOf } from "./actions";

type Record_ = Schema<"AuditRecord">;
type Scope = { runbook: string } | { batch: number } | { messages: true } | { all: true };
interface Filter {
  action?: Schema<"AuditAction">;
  by?: string;
  from?: string;
  to?: string;
}

const defaultDays = 7;
const most = 5000; // records that the page shows

/** One page of the records of a scope. Those of everything are not sorted. */
function reader({ api }: Shared, scope: Scope) {
  return (filter: Filter, continuationToken?: string) => {
    const query = { ...filter, limit: 1000, continuationToken };
    if ("runbook" in scope) return data(api.GET("/runbooks/{name}/audit", { params: { path: { name: scope.runbook }, query } }));
    if ("batch" in scope) return data(api.GET("/batches/{id}/audit", { params: { path: { id: scope.batch }, query } }));
    if ("messages" in scope) return data(api.GET("/messages/audit", { params: { query } }));
    return data(api.GET("/audit", { params: { query } }));
  };
}

type Read = ReturnType<typeof reader>;

async function readAll(read: Read, filter: Filter, limit: number): Promise<{ records: Record_[]; more: boolean }> {
  const records: Record_[] = [];
  let token: string | undefined;
  do {
    const page = await read(filter, token);
    records.push(...page.items);
    token = page.continuationToken;
  } while (token && records.length < limit);
  return { records, more: token !== undefined };
}

const newestFirst = (a: Record_, b: Record_) => b.at.localeCompare(a.at) || b.id.localeCompare(a.id);

/** All records of a filter, the newest first. After the first answer only newer ones are read. */
function useAudit(read: Read, filter: Filter, depends: unknown[]): Pages<Record_> & { cut: boolean } {
  const [state, set] = useState<{ of?: string; records: Record_[]; fresh: Record_[]; more: boolean; error?: Error }>({ records: [], fresh: [], more: false });
  const key = JSON.stringify(depends);
  const now = useRef(state);
  now.current = state;
  const merge = (records: Record_[], fresh: Record_[]) => [...new Map([...fresh, ...records].map((r) => [r.id, r])).values()].sort(newestFirst);
  const release = () => {
    if (now.current.fresh.length > 0) set({ ...now.current, records: merge(now.current.records, now.current.fresh), fresh: [] });
  };
  const holders = useHolders(release);
  const reload = useRepeated(async (signal) => {
    const old = now.current;
    if (old.of !== key) {
      const { records, more } = await readAll(read, filter, most);
      if (!signal.aborted) set({ of: key, records: records.sort(newestFirst), fresh: [], more });
      return true;
    }
    if (filter.to && Date.parse(filter.to) < Date.now()) return false; // nothing new can come
    // A record can be stored a moment after its time: the last seconds are read again.
    const last = old.records[0]?.at ?? filter.from;
    const { records } = await readAll(read, { ...filter, from: last && new Date(Date.parse(last) - 10_000).toISOString() }, most);
    if (signal.aborted) return false;
    const known = new Set([...now.current.records, ...now.current.fresh].map((r) => r.id));
    const fresh = [...now.current.fresh, ...records.filter((r) => !known.has(r.id))];
    if (fresh.length === 0 && !now.current.error) return true;
    set(holders.held() ? { ...now.current, fresh, error: undefined } : { ...now.current, records: merge(now.current.records, fresh), fresh: [], error: undefined });
    return true;
  }, (error) => set({ ...now.current, error }), [key], 1500);
  const own = state.of === key;
  return {
    items: own ? state.records : [], loaded: own, error: state.error, more: false, waiting: own && state.fresh.length > 0, cut: own && state.more, reload,
    show() {},
    hold: holders.hold,
    release,
  };
}

/** A day of the address as the API's time: its beginning in local time. */
const startOfDay = (day: string, plus = 0) => {
  const at = new Date(`${day}T00:00:00`);
  if (Number.isNaN(at.getTime())) return undefined;
  at.setDate(at.getDate() + plus);
  return at.toISOString();
};

export function AuditList({ scope, place }: { scope: Scope; place: Place }) {
  const shared = useShared();
  const permit = usePermit("administer");
  if ("all" in scope && shared.me && !permit.allowed) {
    return (
      <div class="empty">
        <p>{permit.reason} Without it you can read the activity of one object:</p>
        <p><a href={href("waves")}>Choose a wave</a>, <a href={href("runbooks")}>choose a runbook</a>, or look at the <a href={href("activity", { tab: "messages" })}>unprocessable messages</a>.</p>
      </div>
    );
  }
  if (!shared.me) return <div class="skeleton tall" aria-busy="true" />;
  return <Records scope={scope} place={place} shared={shared} />;
}

function Records({ scope, place: { query }, shared }: { scope: Scope; place: Place; shared: Shared }) {
  const [days, by, action] = [["from", "to"].map((name) => query.get(name) ?? ""), query.get("by") ?? "", query.get("action") ?? ""];
  const [from, to] = days as [string, string];
  const reads = query.get("reads") === "1";
  const filter: Filter = {
    action: actionNames.find((a) => a === action), by: by || undefined, to: to ? startOfDay(to, 1) : undefined,
    from: from ? startOfDay(from) : "all" in scope ? startOfDay(new Date(Date.now() - defaultDays * 86_400_000).toLocaleDateString("sv")) : undefined,
  };
  const read = reader(shared, scope);
  const pages = useAudit(read, filter, [scope, filter]);
  const [exporting, setExporting] = useState(false);
  const visible = { ...pages, items: reads || filter.action ? pages.items : pages.items.filter((r) => !isRead(r.action)) };
  const record = query.get("record");
  const opened = record ? pages.items.find((r) => r.id === record) : undefined;
  const filtered = by || action || from || to;
  const save = async (format: "csv" | "json") => {
    setExporting(true);
    try {
      const all = (await readAll(read, filter, Infinity)).records.filter((r) => reads || filter.action || !isRead(r.action)).sort(newestFirst);
      const name = `activity-${new Date().toISOString().slice(0, 10)}.${format}`;
      const columns = ["at", "by", "byKind", "action", "batchId", "runbook", "notification", "target", "reason", "before", "after", "id"] as const;
      saveText(name, format === "csv" ? "text/csv" : "application/json", format === "json" ? JSON.stringify(all, null, 2) : toCsv([...columns], all.map((r) => columns.map((c) => (typeof r[c] === "object" ? JSON.stringify(r[c]) : (r[c] as string | number | undefined))))));
      toast(`Exported ${plural(all.length, "record")} to ${name}`);
    } catch (e) {
      toastError(e);
    } finally {
      setExporting(false);
    }
  };
  const withRecord = (id: string) => `${location.pathname}?${new URLSearchParams([...query].filter(([name]) => name !== "record").concat([["record", id]]))}`;
  return (
    <>
      <Filters active={[by, action, from, to, reads].filter(Boolean).length} end={
        <span class="end">
          <button type="button" class="button small" disabled={exporting} onClick={() => void save("csv")}><Glyph sign="download" />Export CSV</button>
          <button type="button" class="button small" disabled={exporting} onClick={() => void save("json")}>JSON</button>
        </span>
      }>
        <FilterSelect label="Action" name="action" value={action} options={[["", "any"], ...actionNames.map((a) => [a, a.replaceAll("_", " ")] as const)]} />
        <FilterText label="By (exact name)" name="by" value={by} />
        <label class="filter">From <DayField name="from" value={from} /></label>
        <label class="filter">to <DayField name="to" value={to} /></label>
        <label class="check"><input type="checkbox" checked={reads} onChange={(e) => setQuery({ reads: e.currentTarget.checked ? "1" : undefined })} /> Also who read data</label>
        {filtered && <button type="button" class="link-button" onClick={() => setQuery({ by: undefined, action: undefined, from: undefined, to: undefined })}>Clear filters</button>}
      </Filters>
      <p class="quiet">{pages.loaded ? plural(visible.items.length, "record") : "Reading"}{"all" in scope && !from && `, of the last ${defaultDays} days`}{pages.cut && `. There are more than ${most.toLocaleString()}: choose fewer days, or export them all`}</p>
      <List label="Activity" pages={visible} keyOf={(r) => r.id} open={(r) => withRecord(r.id)} empty={filtered ? "Nothing fits this filter." : "Nothing was recorded in this time."}
        columns={[
          { title: "Time", width: "96px", cell: (r) => <><Time at={r.at} as="seconds" /><span class="sub">{sameDay(r.at, new Date()) ? "today" : dayOf(r.at)}</span></> },
          { title: "What", cell: (r) => <What record={r} link={withRecord(r.id)} /> },
          { title: "Reason", wide: true, width: "34%", cell: (r) => (r.reason ? <span title={r.reason}>“{r.reason}”</span> : <span class="quiet">–</span>) },
        ]} />
      {opened && <Details record={opened} onClose={() => setQuery({ record: undefined })} />}
    </>
  );
}

function DayField({ name, value }: { name: string; value: string }) {
  return <input type="date" value={value} onChange={(e) => setQuery({ [name]: e.currentTarget.value })} />;
}

function What({ record: r, link }: { record: Record_; link: string }) {
  const what = doneTo(r);
  return <><a href={link} class="plain"><b>{what.charAt(0).toUpperCase() + what.slice(1)}</b></a><span class="sub">{r.byKind === "system" ? "the scheduler" : r.by}{r.target && ` · ${r.target}`}</span></>;
}

function Details({ record: r, onClose }: { record: Record_; onClose(): void }) {
  const object = objectOf(r);
  const block = (title: string, values: unknown) => (values === undefined ? null : <div><h3>{title}</h3><pre class="well">{JSON.stringify(values, null, 2)}</pre></div>);
  return (
    <Dialog title={`${r.byKind === "system" ? "The scheduler" : r.by} ${doneTo(r)}`} sub={<Time at={r.at} as="full" utc />} wide onClose={onClose}>
      <div class="body">
        <dl class="pairs">
          {r.reason && <div><dt>Reason</dt><dd>{r.reason}</dd></div>}
          <div><dt>Action</dt><dd><code>{r.action}</code></dd></div>
          {r.target && <div><dt>Target</dt><dd><code>{r.target}</code></dd></div>}
          <div><dt>By</dt><dd>{r.by} <span class="quiet">{[r.byKind, r.byObjectId && `object ${r.byObjectId}`].filter(Boolean).join(", ")}</span></dd></div>
          <div><dt>Record</dt><dd><code>{r.id}</code></dd></div>
        </dl>
        {block("Before", r.before)}
        {block("After", r.after)}
        <div class="buttons">
          {object.address && <button type="button" class="button" onClick={() => { onClose(); go(object.address!); }}>Open {object.text}</button>}
          <button type="button" class="button primary" onClick={onClose}>Close</button>
        </div>
      </div>
    </Dialog>
  );
}
