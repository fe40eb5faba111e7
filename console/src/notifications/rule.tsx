import { useState } from "preact/hooks";
import { data, type Schema } from "../api/client";
import { useLive } from "../live";
import { go, href } from "../router";
import { usePermit, useShared } from "../shared";
import { ActionButton } from "../ui/action";
import { Confirm, Effect } from "../ui/dialog";
import { ErrorBanner, Failure } from "../ui/failure";
import { Glyph } from "../ui/glyph";
import { List } from "../ui/list";
import { Head, Loading, Section } from "../ui/page";
import { usePages } from "../ui/pages";
import { lookOf, Status, type Look } from "../ui/status";
import { Time } from "../ui/time";
import { toast } from "../ui/toast";
import { eventNames, targetText, type Event } from "./words";

type Delivery = Schema<"NotificationDelivery">;

const looks: Record<Delivery["status"], Look> = {
  pending: { kind: "wait", sign: "wait", word: "Waits" },
  sent: { kind: "done", sign: "done", word: "Sent" },
  failed: { kind: "fail", sign: "fail", word: "Failed" },
  dropped: { kind: "skip", sign: "skip", word: "Dropped" },
};

/** One rule, with what was sent by it. */
export function Rule({ name }: { name: string }) {
  const { api } = useShared();
  const permit = usePermit("administer");
  const path = { name };
  const rule = useLive(() => data(api.GET("/notifications/{name}", { params: { path } })), [name], 1500);
  const pages = usePages((continuationToken) => data(api.GET("/notifications/{name}/deliveries", { params: { path, query: { limit: 100, continuationToken } } })), (d: Delivery) => d.id, [name], 1500);
  const [dialog, setDialog] = useState<"test" | "remove">();
  const [tested, setTested] = useState<Delivery>();
  if (rule.error && !rule.data) return <Failure title={`The rule ${name} cannot be shown`} error={rule.error} retry={rule.reload} />;
  const r = rule.data;
  if (!r) return <Loading />;
  const target = targetText(r.target);
  return (
    <>
      <Head title={name} crumb={<><a href={href("notifications")}>Notifications</a> /</>}
        facts={<>
          <span>{target.kind} <b>{target.where}</b></span>
          <span>{r.runbook || r.owner ? <>Only {[r.runbook && `runbook ${r.runbook}`, r.owner && `owner ${r.owner}`].filter(Boolean).join(", ")}</> : "All waves"}</span>
          {r.quietHours && <span>Quiet <b>{r.quietHours.from}–{r.quietHours.to}</b> {r.quietHours.timeZone}</span>}
          <span>Added <Time at={r.createdAt} /> by {r.createdBy}</span>
        </>}
        actions={<>
          <ActionButton permit={permit} onClick={() => setDialog("test")}>Send a test…</ActionButton>
          <ActionButton permit={permit} onClick={() => setDialog("remove")}>Remove…</ActionButton>
        </>} />
      {rule.error && <ErrorBanner error={rule.error} retry={rule.reload} />}
      {tested && (tested.status === "sent"
        ? <p class="notice done" role="status"><Glyph sign="done" /><span>The test was sent {tested.sentAt && <Time at={tested.sentAt} as="exactly" />} to {target.where}.</span></p>
        : <p class="notice fail" role="alert"><Glyph sign="fail" /><span>The test failed: {tested.error}. Check the setting of the handler and whether it reaches the target.</span></p>)}
      <Section id="events" title="Tells when">
        <ul class="plain-list">{r.events.map((e) => <li key={e}>{eventNames[e]}{e === "failures" && `, from ${r.failedPercent || 10}% of a phase’s people`}{r.urgent?.includes(e) && <span class="count warn">also in quiet hours</span>}</li>)}</ul>
      </Section>
      <Section id="deliveries" title="What was sent" note="the newest first">
        <List label="What was sent" pages={pages} keyOf={(d) => d.id} empty="Nothing was sent by this rule yet. Send a test to see that it arrives."
          columns={[
            { title: "Time", width: "150px", cell: (d) => <Time at={d.createdAt} as="exactly" /> },
            { title: "Message", cell: (d) => <>{d.link ? <a href={d.link}><b>{d.subject}</b></a> : <b>{d.subject}</b>}<span class="sub" title={d.text}>{d.text}</span></> },
            { title: "Event", wide: true, width: "200px", cell: (d) => (d.event === "test" ? "test" : eventNames[d.event as Event] ?? d.event) },
            { title: "State", width: "150px", cell: (d) => <><Status look={lookOf(looks, d.status)} /><span class="sub" title={d.error}>{d.error ?? (d.status === "pending" && d.nextAttemptAt ? <>next attempt <Time at={d.nextAttemptAt} as="exactly" /></> : d.attemptCount > 1 ? `${d.attemptCount} attempts` : "")}</span></> },
          ]} />
      </Section>
      {dialog === "test" && (
        <Confirm title={`Send a test by ${name}?`} verb="Send 1 test" onClose={() => setDialog(undefined)}
          act={async () => {
            setTested(await data(api.POST("/notifications/{name}/test", { params: { path } })));
            pages.reload();
          }}>
          <dl class="effects">
            <Effect sign="jobs" name="Effect">One message goes to {target.kind} {target.where} at once, also in quiet hours.</Effect>
            <Effect sign="undo" name="Way back">None: what was sent stays with its receivers.</Effect>
          </dl>
        </Confirm>
      )}
      {dialog === "remove" && (
        <Confirm title={`Remove the rule ${name}?`} verb="Remove 1 rule" keep="Keep the rule" danger reason="optional" onClose={() => setDialog(undefined)}
          act={async (reason) => {
            await data(api.DELETE("/notifications/{name}", { params: { path, query: { reason } } }));
            toast(`Removed the rule ${name}`);
            go(href("notifications"));
          }}>
          <dl class="effects">
            <Effect sign="skip" name="Effect">Nothing is sent by it any more, and its deliveries are removed with it.</Effect>
            <Effect sign="undo" name="Way back">Add a rule with the same content. The list of what was sent does not come back.</Effect>
          </dl>
        </Confirm>
      )}
    </>
  );
}
