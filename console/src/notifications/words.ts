import type { Schema } from "../api/client";

export type Event = Schema<"NotificationEvent">;

export const eventNames: Record<Event, string> = {
  gate_waiting: "a phase waits for approval",
  removals_held: "removals are held",
  additions_held: "additions are held",
  failures: "people fail",
  batch_ended: "a wave ends",
  worker_silent: "a worker is silent",
  source_failing: "a source cannot be read",
  message_unprocessable: "a message cannot be processed",
  containers_lost: "containers end before they receive",
  share_returned: "the share of a pipeline returns to 0",
};

export function targetText(t: Schema<"NotificationTarget">): { kind: string; where: string } {
  switch (t.type) {
    case "webhook": return { kind: "Webhook", where: t.urlSetting ?? "" };
    case "teams": return { kind: "Teams", where: t.urlSetting ?? "" };
    case "mail": return { kind: "Mail", where: `${t.to?.join(", ") ?? "as the worker's settings say"}, by ${t.workerId}` };
  }
}
