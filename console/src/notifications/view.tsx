// The rules by which people are notified, and what was sent.
import { useState } from "preact/hooks";
import { data, type Schema } from "../api/client";
import { go, href, type Place } from "../router";
import { usePermit, useShared } from "../shared";
import { ActionButton } from "../ui/action";
import { Glyph } from "../ui/glyph";
import { List } from "../ui/list";
import { Head } from "../ui/page";
import { usePages } from "../ui/pages";
import { AddRule } from "./add";
import { Rule } from "./rule";
import { eventNames, targetText } from "./words";

export function Notifications({ place }: { place: Place }) {
  const name = place.path[1];
  return name === undefined ? <All /> : <Rule key={name} name={name} />;
}

function All() {
  const { api } = useShared();
  const permit = usePermit("administer");
  const [adding, add] = useState(false);
  const pages = usePages(() => data(api.GET("/notifications")), (r: Schema<"NotificationRule">) => r.name, [], 1500);
  return (
    <>
      <Head title="Notifications" sub="A rule tells people what waits for them, by a webhook, Teams or mail."
        actions={<ActionButton kind="primary" permit={permit} onClick={() => add(true)}><Glyph sign="plus" />New rule…</ActionButton>} />
      <List label="Notification rules" pages={pages} keyOf={(r) => r.name} open={(r) => href("notifications", r.name)} empty="There is no rule: nobody is told of gates, holds, failures or silent workers. Add one with “New rule…”."
        columns={[
          { title: "Rule", cell: (r) => <><a href={href("notifications", r.name)}><b>{r.name}</b></a><span class="sub">{[r.runbook && `runbook ${r.runbook}`, r.owner && `owner ${r.owner}`].filter(Boolean).join(", ") || "all waves"}</span></> },
          { title: "Events", cell: (r) => <span title={r.events.map((e) => eventNames[e]).join(", ")}>{r.events.map((e) => eventNames[e]).join(", ")}</span> },
          { title: "Target", width: "230px", cell: (r) => <>{targetText(r.target).kind}<span class="sub">{targetText(r.target).where}</span></> },
          { title: "Quiet hours", wide: true, width: "170px", cell: (r) => (r.quietHours ? <>{r.quietHours.from}–{r.quietHours.to}<span class="sub">{r.quietHours.timeZone}</span></> : <span class="quiet">–</span>) },
        ]} />
      {adding && <AddRule onClose={() => add(false)} onAdded={(name) => go(href("notifications", name))} />}
    </>
  );
}
