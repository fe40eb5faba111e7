import { useState } from "preact/hooks";
import { data, type Schema } from "../api/client";
import { useLive } from "../live";
import { useShared } from "../shared";
import { Confirm, Effect } from "../ui/dialog";
import { CheckField, SelectField, TextField, useDraft } from "../ui/fields";
import { plural } from "../ui/text";
import { toast } from "../ui/toast";
import { eventNames, type Event } from "./words";

const events = Object.keys(eventNames) as Event[];

interface Form {
  name: string;
  events: Event[];
  urgent: Event[];
  runbook: string;
  owner: string;
  failedPercent: string;
  type: Schema<"NotificationTarget">["type"];
  urlSetting: string;
  keySetting: string;
  workerId: string;
  to: string;
  quiet: boolean;
  timeZone: string;
  from: string;
  until: string;
  linkUrl: string;
}

const blank: Form = {
  name: "", events: ["gate_waiting", "failures", "worker_silent", "source_failing"], urgent: [], runbook: "", owner: "", failedPercent: "", type: "webhook", urlSetting: "", keySetting: "", workerId: "", to: "",
  quiet: false, timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone, from: "20:00", until: "07:00", linkUrl: location.origin,
};

function request(f: Form): Schema<"NotificationRequest"> {
  const optional = (text: string) => text.trim() || undefined;
  const target: Schema<"NotificationTarget"> = f.type === "mail" ? { type: "mail", workerId: optional(f.workerId), to: f.to.split(/[\s,;]+/).filter(Boolean) } : { type: f.type, urlSetting: optional(f.urlSetting), ...(f.type === "webhook" && { keySetting: optional(f.keySetting) }) };
  if (target.to?.length === 0) delete target.to;
  return {
    name: f.name.trim(), events: f.events, runbook: optional(f.runbook), owner: optional(f.owner), failedPercent: f.events.includes("failures") && f.failedPercent ? Number(f.failedPercent) : undefined, target,
    quietHours: f.quiet ? { timeZone: f.timeZone, from: f.from, to: f.until } : undefined, urgent: f.quiet && f.urgent.length > 0 ? f.urgent.filter((e) => f.events.includes(e)) : undefined, linkUrl: optional(f.linkUrl),
  };
}

/** A form for a rule. What was typed outlives a reload. */
export function AddRule({ onClose, onAdded }: { onClose(): void; onAdded(name: string): void }) {
  const { api } = useShared();
  const [draft, setDraft] = useDraft("notification");
  const [form, setForm] = useState<Form>(() => ({ ...blank, ...(draft ? (JSON.parse(draft) as Partial<Form>) : {}) }));
  const workers = useLive(() => data(api.GET("/workers", { params: { query: { limit: 100 } } })), [], 30_000);
  const set = (change: Partial<Form>) => {
    const now = { ...form, ...change };
    setForm(now);
    setDraft(JSON.stringify(now));
  };
  const toggle = (field: "events" | "urgent", e: Event) => set({ [field]: form[field].includes(e) ? form[field].filter((o) => o !== e) : events.filter((o) => o === e || form[field].includes(o)) });
  const badName = form.name !== "" && !/^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?$/.test(form.name);
  const ready = form.name !== "" && !badName && form.events.length > 0 && (form.type === "mail" ? form.workerId !== "" : form.urlSetting.trim() !== "" && (form.type === "teams" || form.keySetting.trim() !== ""));
  return (
    <Confirm title="Add a notification rule?" verb="Add the rule" ready={ready} onClose={onClose}
      act={async () => {
        const rule = await data(api.POST("/notifications", { body: request(form) }));
        setDraft("");
        toast(rule.unchanged ? `The rule ${rule.name} exists with this content` : `Added the rule ${rule.name}`);
        onAdded(rule.name);
      }}
      fields={<>
        <TextField label="Name" value={form.name} onValue={(name) => set({ name })} autocomplete="off" maxLength={40} error={badName ? "Use lower-case letters, digits and hyphens, at most 40." : undefined} />
        <fieldset class="choices"><legend>Tell when</legend>{events.map((e) => <CheckField key={e} label={eventNames[e]} checked={form.events.includes(e)} onValue={() => toggle("events", e)} />)}</fieldset>
        {form.events.includes("failures") && <TextField label="Failures from this percentage of a phase's people" type="number" min="0" max="100" value={form.failedPercent} onValue={(failedPercent) => set({ failedPercent })} placeholder="10" />}
        <div class="two">
          <TextField label="Only of the runbook (optional)" value={form.runbook} onValue={(runbook) => set({ runbook })} autocomplete="off" />
          <TextField label="Only of the owner (optional)" value={form.owner} onValue={(owner) => set({ owner })} autocomplete="off" />
        </div>
        <SelectField label="Target" value={form.type} onValue={(type) => set({ type: type as Form["type"] })} options={[["webhook", "Webhook, signed"], ["teams", "Teams workflow"], ["mail", "Mail, sent by a worker"]]} />
        {form.type !== "mail" && <TextField label="Setting of the handler with the URL" hint="NOTIFICATION_SETTINGS must list it. The URL itself is never shown." value={form.urlSetting} onValue={(urlSetting) => set({ urlSetting })} autocomplete="off" placeholder="ALARM_URL" />}
        {form.type === "webhook" && <TextField label="Setting of the handler with the key for signatures" value={form.keySetting} onValue={(keySetting) => set({ keySetting })} autocomplete="off" placeholder="ALARM_KEY" />}
        {form.type === "mail" && <>
          <SelectField label="Worker that sends the mail" value={form.workerId} onValue={(workerId) => set({ workerId })} options={[["", "Choose a worker"], ...(workers.data?.items ?? []).map((w) => [w.id, w.id] as const)]} />
          <TextField label="To (optional)" hint="Addresses, separated by commas. Without one, those in the settings of the worker." value={form.to} onValue={(to) => set({ to })} autocomplete="off" />
        </>}
        <CheckField label="Hold back during quiet hours" checked={form.quiet} onValue={(quiet) => set({ quiet })} />
        {form.quiet && <>
          <div class="three">
            <TextField label="From" value={form.from} onValue={(from) => set({ from })} placeholder="20:00" />
            <TextField label="To" value={form.until} onValue={(until) => set({ until })} placeholder="07:00" />
            <TextField label="Time zone" value={form.timeZone} onValue={(timeZone) => set({ timeZone })} />
          </div>
          <fieldset class="choices"><legend>Urgent, also during quiet hours</legend>{form.events.map((e) => <CheckField key={e} label={eventNames[e]} checked={form.urgent.includes(e)} onValue={() => toggle("urgent", e)} />)}</fieldset>
        </>}
        <TextField label="Links begin with (optional)" type="url" value={form.linkUrl} onValue={(linkUrl) => set({ linkUrl })} />
      </>}>
      <dl class="effects">
        <Effect sign="jobs" name="Effect">{plural(form.events.length, "kind")} of event {form.events.length === 1 ? "is" : "are"} sent from now on; what waits already is sent at the next tick.</Effect>
        <Effect sign="undo" name="Way back">Remove the rule. A rule never changes: to change one, remove it and add another.</Effect>
      </dl>
    </Confirm>
  );
}
