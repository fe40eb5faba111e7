// What was done and by whom, and the messages that could not be processed.
import { setQuery, type Place } from "../router";
import { useShared } from "../shared";
import { Glyph } from "../ui/glyph";
import { Head } from "../ui/page";
import { AuditList } from "./audit";
import { Messages } from "./messages";

const tabs = [["", "Activity"], ["messages", "Unprocessable messages"], ["decisions", "Replays and discards"]] as const;

export function Activity({ place }: { place: Place }) {
  const { summary } = useShared();
  const tab = place.query.get("tab") ?? "";
  const batch = Number(place.query.get("batch")) || undefined;
  const open = summary.data?.attention.find((a) => a.event === "message_unprocessable")?.count;
  return (
    <>
      <Head title="Activity" sub="Who did what, when and why. The address of this page keeps what you filter." />
      <div class="tab-row">
        <div class="tabs" role="group" aria-label="Parts of the activity">
          {tabs.map(([value, title]) => <button key={value} type="button" aria-pressed={tab === value} onClick={() => setQuery({ tab: value, message: undefined, record: undefined, status: undefined, batch: undefined })}>{title}{value === "messages" && open !== undefined && <span class="tab-count"> {open}</span>}</button>)}
        </div>
      </div>
      {tab === "" && batch && <p><button type="button" class="button small" onClick={() => setQuery({ batch: undefined })}>Wave {batch} <Glyph sign="close" /></button></p>}
      {tab === "messages" ? <Messages place={place} /> : tab === "decisions" ? <AuditList key="messages" scope={{ messages: true }} place={place} /> : <AuditList key={batch ?? "all"} scope={batch ? { batch } : { all: true }} place={place} />}
    </>
  );
}
