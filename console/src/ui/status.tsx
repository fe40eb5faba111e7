import { Glyph, type Sign } from "./glyph";

/** How a state looks: its ground colour, its sign and its word. */
export interface Look {
  kind: "done" | "run" | "wait" | "warn" | "fail" | "skip";
  sign: Sign;
  word: string;
}

const look = (kind: Look["kind"], sign: Sign, word: string): Look => ({ kind, sign, word });

/** How a status looks; of one that this page does not know, because the API is newer, its name is the word. */
export const lookOf = (looks: Record<string, Look>, status: string): Look => looks[status] ?? look("wait", "due", status.replaceAll("_", " "));

export const stepLooks: Record<string, Look> = {
  pending: look("wait", "due", "Not started"),
  queued: look("wait", "wait", "Queued"),
  at_worker: look("run", "run", "At the worker"),
  polling: look("run", "run", "Polling"),
  waiting_for_retry: look("warn", "wait", "Waiting for retry"),
  succeeded: look("done", "done", "Succeeded"),
  failed: look("fail", "fail", "Failed"),
  poll_timeout: look("fail", "fail", "Poll timeout"),
  cancelled: look("skip", "skip", "Cancelled"),
  skipped: look("skip", "skip", "Skipped"),
  skipped_by_condition: look("skip", "skip", "Skipped by condition"),
};

export const memberLooks: Record<string, Look> = {
  active: look("run", "run", "Active"),
  done: look("done", "done", "Done"),
  failed: look("fail", "fail", "Failed"),
  removed: look("skip", "skip", "Removed"),
};

export const phaseLooks: Record<string, Look> = {
  pending: look("wait", "due", "Due"),
  dispatched: look("run", "run", "Running"),
  completed: look("done", "done", "Completed"),
  failed: look("fail", "fail", "Failed"),
  skipped: look("skip", "skip", "Skipped"),
  superseded: look("skip", "skip", "Superseded"),
  cancelled: look("skip", "skip", "Cancelled"),
};

export const batchLooks: Record<string, Look> = {
  detected: look("wait", "due", "Not started"),
  init_dispatched: look("run", "run", "Init steps run"),
  active: look("run", "run", "Running"),
  cancelling: look("warn", "run", "Cancelling"),
  completed: look("done", "done", "Completed"),
  failed: look("fail", "fail", "Failed"),
  cancelled: look("skip", "skip", "Cancelled"),
};

/** How a batch is marked that is only compared with another orchestrator. */
export const shadowLook: Look = look("wait", "people", "Shadow");

/** How a batch looks that is not working, by the code of what it waits for. */
export const waitingLooks: Record<string, Look> = {
  members: look("wait", "wait", "Waits for members"),
  gate: look("warn", "lock", "Needs an approval"),
  removals_held: look("warn", "hold", "Held"),
  advance: look("wait", "due", "Waits to be advanced"),
  quiet_hours: look("wait", "wait", "Quiet hours"),
  scheduled: look("wait", "due", "Scheduled"),
  throttled: look("warn", "hourglass", "Throttled"),
  worker_starting: look("wait", "wait", "Worker starts"),
  worker_silent: look("warn", "silent", "Worker silent"),
};

export const workerLooks: Record<string, Look> = {
  alive: look("done", "done", "Alive"),
  scaled_to_zero: look("wait", "due", "Scaled to zero"),
  silent: look("warn", "silent", "Silent"),
  gone: look("warn", "silent", "Gone"),
};

export function Status({ look, grounded, text }: { look: Look; grounded?: boolean; text?: string }) {
  return (
    <span class={`status k-${look.kind} ${grounded ? "grounded" : ""}`}>
      <Glyph sign={look.sign} />
      {text ?? look.word}
    </span>
  );
}
