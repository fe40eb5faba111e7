import { data } from "../api/client";
import { href, type Place } from "../router";
import { useShared } from "../shared";
import { List } from "../ui/list";
import { Head } from "../ui/page";
import { usePages } from "../ui/pages";
import { Status } from "../ui/status";

/** The data sources of all runbooks. */
export function Sources(_: { place: Place }) {
  const { api } = useShared();
  const pages = usePages(async (continuationToken) => {
    const page = await data(api.GET("/runbooks", { params: { query: { limit: 100, continuationToken } } }));
    return { ...page, items: page.items.filter((r) => r.automationEnabled || r.lastError) };
  }, (r) => r.name, [], 5000);
  return (
    <>
      <Head title="Sources" />
      <List label="Sources" pages={pages} keyOf={(r) => r.name} empty="No runbook follows a data source."
        columns={[
          { title: "Runbook", cell: (r) => <a href={href("waves", { runbook: r.name })}>{r.name}</a> },
          { title: "State", cell: (r) => <><Status look={r.lastError ? { kind: "fail", sign: "fail", word: "Failing" } : { kind: "done", sign: "done", word: "Read" }} />{r.lastError && <span class="sub">{r.lastError}</span>}</> },
          { title: "Held people", number: true, width: "110px", cell: (r) => r.peopleHeld ?? 0 },
        ]} />
    </>
  );
}
