// The data sources of runbooks: whether they are read, what they hold back, and what the next sync would do.
import { data, type Schema } from "../api/client";
import { href, type Place } from "../router";
import { useShared } from "../shared";
import { List } from "../ui/list";
import { Head } from "../ui/page";
import { usePages } from "../ui/pages";
import { Status } from "../ui/status";
import { people, plural } from "../ui/text";
import { Time } from "../ui/time";
import { Source } from "./source";

export const sourceNames: Record<string, string> = { sql: "SQL", postgres: "PostgreSQL", dataverse: "Dataverse", databricks: "Databricks", csv: "CSV", graph: "Microsoft Graph" };

export function Sources({ place }: { place: Place }) {
  const name = place.path[1];
  return name === undefined ? <All /> : <Source key={name} name={name} place={place} />;
}

function All() {
  const { api } = useShared();
  const pages = usePages(async (continuationToken) => {
    const page = await data(api.GET("/runbooks", { params: { query: { limit: 100, continuationToken } } }));
    return { ...page, items: page.items.filter((r) => r.source || r.automationEnabled || r.lastError) };
  }, (r) => r.name, [], 1500);
  const held = (r: Schema<"Runbook">) => [r.batchesHeld && `Removals of ${plural(r.batchesHeld, "wave")}`, r.peopleHeld && `${people(r.peopleHeld)} to add`].filter(Boolean).join(", ");
  return (
    <>
      <Head title="Sources" sub="Every five minutes each source is read, and the waves of its runbook follow what it lists." />
      <List label="Sources" pages={pages} keyOf={(r) => r.name} open={(r) => href("sources", r.name)} empty="No runbook names a data source. Add data_source with a connection to a runbook to have its waves made from a query."
        columns={[
          { title: "Source of", cell: (r) => <><a href={href("sources", r.name)}><b>{r.name}</b></a><span class="sub">{r.source ? sourceNames[r.source] ?? r.source : "Uploaded"}</span></> },
          { title: "State", width: "150px", cell: (r) => <SourceState runbook={r} /> },
          { title: "Waits for you", cell: (r) => (r.lastError ? <span class="k-fail">{r.lastError}</span> : held(r) ? <span class="k-warn">{held(r)}</span> : <span class="quiet">–</span>) },
          { title: "Rows", number: true, wide: true, width: "90px", cell: (r) => (r.lastSyncAt ? (r.rowCount ?? 0).toLocaleString() : "–") },
          { title: "Problems", number: true, width: "90px", cell: (r) => (r.problemCount ? <b class="k-warn">{r.problemCount.toLocaleString()}</b> : <span class="quiet">–</span>) },
          { title: "Last read", wide: true, width: "140px", cell: (r) => (r.lastSyncAt ? <Time at={r.lastSyncAt} /> : <span class="quiet">never</span>) },
        ]} />
    </>
  );
}

/** Whether a source is read, and whether that works. */
export function SourceState({ runbook: r, grounded }: { runbook: Pick<Schema<"Runbook">, "lastError" | "batchesHeld" | "peopleHeld" | "automationEnabled" | "lastSyncAt">; grounded?: boolean }) {
  if (r.lastError) return <Status grounded={grounded} look={{ kind: "fail", sign: "fail", word: "Cannot be read" }} />;
  if (r.batchesHeld || r.peopleHeld) return <Status grounded={grounded} look={{ kind: "warn", sign: "hold", word: "Held" }} />;
  if (!r.automationEnabled) return <Status grounded={grounded} look={{ kind: "skip", sign: "pause", word: "Off" }} />;
  return <Status grounded={grounded} look={r.lastSyncAt ? { kind: "done", sign: "done", word: "Read" } : { kind: "wait", sign: "wait", word: "Waits for a tick" }} />;
}
