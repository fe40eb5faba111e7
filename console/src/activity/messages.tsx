import { useState } from "preact/hooks";
import { data, type Schema } from "../api/client";
import { setQuery, type Place } from "../router";
import { usePermit, useShared, type Permit } from "../shared";
import { ActionButton } from "../ui/action";
import { Confirm, Dialog, Effect } from "../ui/dialog";
import { ErrorBanner } from "../ui/failure";
import { FilterSelect, FilterTabs } from "../ui/fields";
import { Filters } from "../ui/filters";
import { List } from "../ui/list";
import { usePages } from "../ui/pages";
import { lookOf, Status, type Look } from "../ui/status";
import { plural } from "../ui/text";
import { Time } from "../ui/time";
import { toast } from "../ui/toast";

type Message = Schema<"UnprocessableMessage">;

const looks: Record<Message["status"], Look> = {
  open: { kind: "fail", sign: "fail", word: "Open" },
  replayed: { kind: "done", sign: "retry", word: "Replayed" },
  discarded: { kind: "skip", sign: "skip", word: "Discarded" },
};

const topics = ["orchestrator-events", "worker-results", "worker-jobs"] as const;

/** Messages that the handler could not process. */
export function Messages({ place }: { place: Place }) {
  const { api } = useShared();
  const permit = usePermit("administer");
  const status = (Object.keys(looks) as Message["status"][]).find((s) => s === place.query.get("status"));
  const topic = topics.find((t) => t === place.query.get("topic"));
  const sort = (place.query.get("sort") ?? "-storedAt") as Schema<"MessageSort">;
  const pages = usePages((continuationToken) => data(api.GET("/messages/unprocessed", { params: { query: { status: [status ?? "open"], topic, sort, limit: 100, continuationToken } } })), (m) => m.id, [status, topic, sort], 1500);
  const [deciding, decide] = useState<{ message: Message; action: "replay" | "discard" }>();
  const opened = place.query.get("message");
  const address = (m: Message) => `?${new URLSearchParams([...place.query].filter(([name]) => name !== "message").concat([["message", m.id]]))}`;
  return (
    <>
      <Filters active={[status && status !== "open", topic].filter(Boolean).length}>
        <FilterTabs label="Status" name="status" value={status === "open" ? "" : status ?? ""} options={[["", "Open"], ["replayed", "Replayed"], ["discarded", "Discarded"]]} />
        <FilterSelect label="Topic" name="topic" value={topic ?? ""} options={[["", "any"], ...topics.map((t) => [t, t] as const)]} />
      </Filters>
      <List label="Unprocessable messages" pages={pages} keyOf={(m) => m.id} open={address} sort={sort} empty={status === "replayed" ? "No message was replayed." : status === "discarded" ? "No message was discarded." : "Every message was processed."}
        columns={[
          { title: "Message", sort: "messageType", cell: (m) => <><a href={address(m)}><b>{m.messageType ?? "Message"}</b></a><span class="sub">{m.topic}</span></> },
          { title: "Reason", cell: (m) => <span title={m.reason}>{m.reason}<span class="sub">{plural(m.count, "failed delivery", "failed deliveries")}{m.replays > 0 && `, ${plural(m.replays, "replay")}`}</span></span> },
          { title: "Stored", wide: true, sort: "storedAt", width: "150px", cell: (m) => <Time at={m.storedAt} as="exactly" /> },
          { title: "State", width: "130px", cell: (m) => <><Status look={lookOf(looks, m.status)} />{m.handled && <span class="sub">{m.handled.by}</span>}</> },
          { title: "Actions", wide: true, width: "190px", cell: (m) => <span class="row-actions"><Actions message={m} permit={permit} small onAct={(action) => decide({ message: m, action })} /></span> },
        ]} />
      {opened && !deciding && <Opened id={opened} permit={permit} onAct={(message, action) => decide({ message, action })} onClose={() => setQuery({ message: undefined })} />}
      {deciding && <Decide {...deciding} onClose={() => decide(undefined)} onDone={() => { setQuery({ message: undefined }); pages.reload(); }} />}
    </>
  );
}

function Actions({ message: m, permit, small, onAct }: { message: Message; permit: Permit; small?: boolean; onAct(action: "replay" | "discard"): void }) {
  return (
    <>
      <ActionButton small={small} permit={permit} onClick={() => onAct("replay")}>Replay…</ActionButton>
      {m.status !== "discarded" && <ActionButton small={small} permit={permit} onClick={() => onAct("discard")}>Discard…</ActionButton>}
    </>
  );
}

/** A message with its body, which only administrators read: each read is recorded. */
function Opened({ id, permit, onAct, onClose }: { id: string; permit: Permit; onAct(message: Message, action: "replay" | "discard"): void; onClose(): void }) {
  const { api } = useShared();
  const [state, set] = useState<{ message?: Message; error?: unknown }>({});
  const [asked, ask] = useState(false);
  const read = () => {
    ask(true);
    data(api.GET("/messages/unprocessed/{id}", { params: { path: { id } } })).then((message) => set({ message }), (error: unknown) => set({ error }));
  };
  const m = state.message;
  return (
    <Dialog title={m ? `${m.messageType ?? "Message"} of ${m.topic}` : "Unprocessable message"} sub={m?.reason} wide onClose={onClose}>
      <div class="body">
        {!asked && <p>The body can have any data. That you read it is recorded in the activity.</p>}
        {state.error !== undefined && <ErrorBanner error={state.error} retry={read} />}
        {m && <>
          <dl class="pairs">
            <div><dt>Message id</dt><dd><code>{m.messageId}</code></dd></div>
            <div><dt>Deliveries</dt><dd>{plural(m.count, "failed delivery", "failed deliveries")}, first <Time at={m.firstStoredAt} as="full" />, last <Time at={m.storedAt} as="full" /></dd></div>
            {m.deadLetter && <div><dt>Dead letter</dt><dd>{m.deadLetter.reason}{m.deadLetter.description && `: ${m.deadLetter.description}`} <span class="quiet">{m.deadLetter.subscription}</span></dd></div>}
            {m.handled && <div><dt>{lookOf(looks, m.status).word}</dt><dd>by {m.handled.by} <Time at={m.handled.at} as="full" />{m.handled.reason && `: ${m.handled.reason}`}</dd></div>}
          </dl>
          {m.properties && <div><h3>Properties</h3><pre class="well">{JSON.stringify(m.properties, null, 2)}</pre></div>}
          <div><h3>Body <span class="quiet">{m.size.toLocaleString()} bytes{m.bodyTruncated && ", the first 240 KB"}</span></h3><pre class="well tall-well">{m.body !== undefined ? JSON.stringify(m.body, null, 2) : m.bodyBase64 ? atob(m.bodyBase64) : "empty"}</pre></div>
        </>}
        <div class="buttons">
          <button type="button" class="button" onClick={onClose}>Close</button>
          {!asked && <ActionButton permit={permit} kind="primary" onClick={read}>Show the body</ActionButton>}
          {m && <Actions message={m} permit={permit} onAct={(action) => onAct(m, action)} />}
        </div>
      </div>
    </Dialog>
  );
}

function Decide({ message: m, action, onClose, onDone }: { message: Message; action: "replay" | "discard"; onClose(): void; onDone(): void }) {
  const { api } = useShared();
  const params = { path: { id: m.id } };
  const replay = action === "replay";
  const what = m.messageType ?? "message";
  return (
    <Confirm title={replay ? `Replay this ${what}?` : `Discard this ${what}?`} sub={m.reason} verb={replay ? "Replay 1 message" : "Discard 1 message"} keep="Leave it open" danger={!replay} reason="optional" onClose={onClose}
      act={async (reason) => {
        replay ? await data(api.POST("/messages/unprocessed/{id}/replay", { params, body: { reason } })) : await data(api.POST("/messages/unprocessed/{id}/discard", { params, body: { reason } }));
        toast(replay ? `Replayed the ${what}` : `Discarded the ${what}`);
        onDone();
      }}>
      <dl class="effects">
        {replay ? <>
          <Effect sign="retry" name="Effect">The message is sent to {m.topic} again, unchanged.</Effect>
          <Effect sign="fail" name="Otherwise">If it cannot be processed again, it is open here again with the new reason.</Effect>
          <Effect sign="undo" name="Way back">A message that was processed cannot be taken back. One that was processed before has no effect.</Effect>
        </> : <>
          <Effect sign="skip" name="Effect">The message is not processed. What it reported stays unknown: a step that waits for it ends at its deadline.</Effect>
          <Effect sign="undo" name="Way back">It stays stored. Replay it from the discarded ones.</Effect>
        </>}
      </dl>
    </Confirm>
  );
}
