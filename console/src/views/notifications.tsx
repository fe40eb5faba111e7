import { data } from "../api/client";
import type { Place } from "../router";
import { useShared } from "../shared";
import { List } from "../ui/list";
import { Head } from "../ui/page";
import { usePages } from "../ui/pages";

/** The rules by which people are notified. */
export function Notifications(_: { place: Place }) {
  const { api } = useShared();
  const pages = usePages(() => data(api.GET("/notifications")), (r) => r.name, [], 5000);
  return (
    <>
      <Head title="Notifications" />
      <List label="Notifications" pages={pages} keyOf={(r) => r.name} empty="There is no rule. Add one with matoolkit notification add."
        columns={[
          { title: "Rule", cell: (r) => <b>{r.name}</b> },
          { title: "Events", cell: (r) => r.events.join(", ") },
          { title: "Target", cell: (r) => r.target.type },
        ]} />
    </>
  );
}
