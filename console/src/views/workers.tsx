import { data } from "../api/client";
import type { Place } from "../router";
import { useShared } from "../shared";
import { List } from "../ui/list";
import { Head } from "../ui/page";
import { usePages } from "../ui/pages";
import { Status, workerLooks } from "../ui/status";
import { Time } from "../ui/time";

/** All workers with their state and jobs. */
export function Workers(_: { place: Place }) {
  const { api } = useShared();
  const pages = usePages((continuationToken) => data(api.GET("/workers", { params: { query: { limit: 100, continuationToken } } })), (w) => w.id, [], 2000);
  return (
    <>
      <Head title="Workers" />
      <List label="Workers" pages={pages} keyOf={(w) => w.id} empty="No worker has announced itself."
        columns={[
          { title: "Worker", cell: (w) => <><b>{w.id}</b><span class="sub">{w.functionCount} functions</span></> },
          { title: "State", cell: (w) => <><Status look={workerLooks[w.state]} />{w.lastSeenAt && <span class="sub"><Time at={w.lastSeenAt} exact /></span>}</> },
          { title: "Queue", number: true, width: "80px", cell: (w) => w.jobsQueued },
          { title: "At work", number: true, width: "80px", cell: (w) => w.jobsInFlight },
        ]} />
    </>
  );
}
