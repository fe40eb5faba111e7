// The runbooks: their list, and one of them with its editor, its versions and its automation.
import { data, type Schema } from "../api/client";
import { lazy } from "../lazy";
import { go, href, type Place } from "../router";
import { usePermit, useShared } from "../shared";
import { FilterText } from "../ui/fields";
import { ActionButton } from "../ui/action";
import { Glyph } from "../ui/glyph";
import { List } from "../ui/list";
import { Head } from "../ui/page";
import { usePages } from "../ui/pages";
import { people, plural } from "../ui/text";
import { Time } from "../ui/time";
import { AutomationState } from "./automation";

// The editor is fetched when a runbook is opened first.
const Runbook = lazy(() => import("./runbook").then((m) => m.Runbook));
const NewRunbook = lazy(() => import("./runbook").then((m) => m.NewRunbook));

export function Runbooks({ place }: { place: Place }) {
  const name = place.path[1];
  if (name !== undefined) return <Runbook key={name} name={name} place={place} />;
  return place.query.has("new") ? <NewRunbook /> : <All place={place} />;
}

function All({ place }: { place: Place }) {
  const { api } = useShared();
  const permit = usePermit("administer");
  const search = place.query.get("q") || undefined;
  const sort = (place.query.get("sort") ?? "name") as Schema<"RunbookSort">;
  const pages = usePages((continuationToken) => data(api.GET("/runbooks", { params: { query: { search, sort, limit: 100, continuationToken } } })), (r) => r.name, [search, sort], 1500);
  return (
    <>
      <Head title="Runbooks" sub="A runbook says what is done for each person, and when."
        actions={<><a class="button" href={href("rehearsal")}>Rehearsal report</a><ActionButton kind="primary" permit={permit} onClick={() => go(href("runbooks", { new: 1 }))}><Glyph sign="plus" />New runbook</ActionButton></>} />
      <div class="filters"><FilterText label="Name begins with" name="q" value={search ?? ""} /></div>
      <List label="Runbooks" pages={pages} keyOf={(r) => r.name} open={(r) => href("runbooks", r.name)} sort={sort}
        empty={search ? "No runbook has a name that begins so." : "No runbook is active. Begin one with “New runbook”, or publish a file with matoolkit runbook publish."}
        columns={[
          { title: "Runbook", sort: "name", cell: (r) => <><a href={href("runbooks", r.name)}><b>{r.name}</b></a><span class="sub">{r.description}</span></> },
          { title: "Version", number: true, width: "80px", cell: (r) => `v${r.version}` },
          { title: "Automation", width: "240px", cell: (r) => <><AutomationState runbook={r} />{automationNote(r)}</> },
          { title: "Published", wide: true, sort: "createdAt", width: "220px", cell: (r) => <><Time at={r.createdAt} /><span class="sub">{r.publishedBy}</span></> },
        ]} />
    </>
  );
}

function automationNote(r: Schema<"Runbook">) {
  const held = [r.batchesHeld && `removals of ${plural(r.batchesHeld, "wave")}`, r.peopleHeld && people(r.peopleHeld)].filter(Boolean).join(" and ");
  const note = r.lastError ?? (held && `Held: ${held}`);
  return note ? <span class="sub">{note}</span> : null;
}
