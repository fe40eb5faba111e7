import { data } from "../api/client";
import { href, type Place } from "../router";
import { useShared } from "../shared";
import { List } from "../ui/list";
import { Head } from "../ui/page";
import { usePages } from "../ui/pages";
import { lookOf, memberLooks, Status } from "../ui/status";

/** People of all batches whose columns have a text. */
export function People({ place }: { place: Place }) {
  const { api } = useShared();
  const text = (place.query.get("q") ?? "").trim();
  const pages = usePages(
    async (continuationToken) => (text ? data(api.GET("/find", { params: { query: { text, limit: 50, continuationToken } } })) : { items: [] }),
    (m) => `${m.batchId}/${m.memberId}`, [text], 1500);
  return (
    <>
      <Head title="People" sub={text ? `Who has “${text}” in any stored column, in all waves.` : "Search for a name, an address or any other stored value, across all waves. Press / to start."} />
      {text && (
        <List label="People" pages={pages} keyOf={(m) => `${m.batchId}/${m.memberId}`} open={(m) => href("waves", m.batchId, "people", m.memberId)} empty={`No wave has a person with “${text}”. Try a part of the name, the address or another column.`}
          columns={[
            { title: "Person", cell: (m) => <><a href={href("waves", m.batchId, "people", m.memberId)}>{m.memberDisplay ?? m.memberKey}</a>{m.memberDisplay && <span class="sub">{m.memberKey}</span>}</> },
            { title: "Found in", wide: true, cell: (m) => (m.matched ? <>{m.matched.column}<span class="sub">{m.matched.value}</span></> : <span class="quiet">Key or name</span>) },
            { title: "Wave", wide: true, cell: (m) => <><a href={href("waves", m.batchId)}>{m.batchName ?? `Wave ${m.batchId}`}</a><span class="sub">{m.runbook}</span></> },
            { title: "Phase and step", wide: true, cell: (m) => <>{m.phase}<span class="sub">{m.step}</span></> },
            { title: "Status", cell: (m) => <><Status look={lookOf(memberLooks, m.status)} /><span class="sub">{m.error}</span></> },
          ]} />
      )}
    </>
  );
}
