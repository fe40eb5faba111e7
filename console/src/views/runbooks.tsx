import { data } from "../api/client";
import { href, type Place } from "../router";
import { useShared } from "../shared";
import { FilterText } from "../ui/fields";
import { List } from "../ui/list";
import { Head } from "../ui/page";
import { usePages } from "../ui/pages";
import { Status } from "../ui/status";
import { Time } from "../ui/time";

/** All runbooks. */
export function Runbooks({ place }: { place: Place }) {
  const { api } = useShared();
  const search = place.query.get("q") || undefined;
  const pages = usePages((continuationToken) => data(api.GET("/runbooks", { params: { query: { search, limit: 100, continuationToken } } })), (r) => r.name, [search], 5000);
  return (
    <>
      <Head title="Runbooks" />
      <div class="filters"><FilterText label="Name begins with" name="q" value={search ?? ""} /></div>
      <List label="Runbooks" pages={pages} keyOf={(r) => r.name} open={(r) => href("waves", { runbook: r.name })} empty="No runbook is published. Publish one with matoolkit runbook publish."
        columns={[
          { title: "Runbook", cell: (r) => <><a href={href("waves", { runbook: r.name })}>{r.name}</a><span class="sub">version {r.version}</span></> },
          { title: "State", cell: (r) => <Status look={r.isActive ? { kind: "done", sign: "done", word: "Active" } : { kind: "skip", sign: "skip", word: "Not active" }} /> },
          { title: "Published", wide: true, cell: (r) => <><Time at={r.createdAt} /><span class="sub">{r.publishedBy}</span></> },
        ]} />
    </>
  );
}
