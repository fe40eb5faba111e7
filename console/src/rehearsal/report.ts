// The report of a rehearsal, as matoolkit rehearse --json writes it, as far as the console shows it.

/** The format that this console reads. */
const format = 1;

export interface ErrorGroup {
  phase: string;
  step: string;
  rollback?: string;
  functionName: string;
  error: string;
  members: { key: string; error: string }[];
}

export interface Change {
  tenant: string;
  kind: string;
  id: string;
  name: string;
  effect: string;
  fields: { name: string; before: unknown; after: unknown }[];
}

export interface Report {
  format: number;
  runbook: string;
  start: string;
  tenants: { name: string; tenantId: string; users: number; groups: number; recipients: number; takenAt?: string }[];
  assumptions: { parallelism: number; graphSeconds: number; exchangeSeconds: number; exchangeCommands: number; dispatchSeconds: number; copySeconds: number };
  memberCount: number;
  succeeded: number;
  failed: number;
  complete: boolean;
  errors: ErrorGroup[];
  warnings: ErrorGroup[];
  phases: { batchId: number; phase: string; offset?: string; status: string; dueAt?: string; startedAt?: string; endedAt?: string; seconds: number; succeeded: number; failed: number; jobs: number }[];
  licenses: { tenant: string; skuPartNumber: string; bought: number; usedBefore: number; usedAfter: number }[];
  calls: { tenant: string; kind: string; total: number; busiestMinute: number; busiestAt: string; limit?: string }[];
  changes: Change[];
  removal?: { members: string[]; offset: string; errors: ErrorGroup[]; left: Change[] };
  notRehearsed: { functionName: string; calls: number; why: string }[];
  notModelled: { functions: string[]; behaviour: string; observed?: { batchId: number; what: string }[] }[];
  notes: string[];
}

const lists = ["tenants", "errors", "warnings", "phases", "licenses", "calls", "changes", "notRehearsed", "notModelled", "notes"] as const;

/** Reads a report; an error says what to do. */
export function readReport(text: string): Report {
  let read: Partial<Report> | null;
  try {
    read = JSON.parse(text) as Partial<Report> | null;
  } catch {
    throw new Error("This is not JSON. Open the file that matoolkit rehearse --json wrote.");
  }
  if (read && typeof read.format === "number" && read.format !== format) {
    throw new Error(`The report has format ${read.format}, and this console reads format ${format}. Rehearse with the version of the console.`);
  }
  if (!read || read.format !== format || typeof read.runbook !== "string" || !read.assumptions || lists.some((l) => !Array.isArray(read[l]))) {
    throw new Error("This is not the report of a rehearsal. Open the file that matoolkit rehearse --json wrote.");
  }
  return read as Report;
}
