import { data } from "../api/client";
import type { Place } from "../router";
import { useShared } from "../shared";
import { List } from "../ui/list";
import { Head } from "../ui/page";
import { usePages } from "../ui/pages";
import { Time } from "../ui/time";

/** Who did what, when and why. */
export function Activity(_: { place: Place }) {
  const { api } = useShared();
  const pages = usePages((continuationToken) => data(api.GET("/audit", { params: { query: { limit: 200, continuationToken } } })), (r) => r.id, [], 5000);
  return (
    <>
      <Head title="Activity" />
      <List label="Activity" pages={pages} keyOf={(r) => r.id} empty="Nothing was recorded yet."
        columns={[
          { title: "Time", width: "150px", cell: (r) => <Time at={r.at} /> },
          { title: "Who", cell: (r) => r.by },
          { title: "What", cell: (r) => <>{r.action} {r.target}{r.reason && <span class="sub">{r.reason}</span>}</> },
        ]} />
    </>
  );
}
