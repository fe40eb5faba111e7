// Announces the functions of the worker and sends its heartbeats.
import { createHash, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { functions } from './functions.js';
import type { Jobs, Send } from './jobs.js';

const version = '1.0.0';
const interval = 30_000; // milliseconds
const maxJobs = 500; // that a heartbeat lists

export class Presence {
  private readonly replicaId = randomUUID();
  private readonly startedAt = new Date();

  constructor(private readonly workerId: string, private readonly jobs: Jobs, private readonly send: Send) {}

  async run(signal: AbortSignal): Promise<void> {
    for (let announced = false; !signal.aborted;) {
      try {
        if (!announced) await this.announce();
        announced = true;
        await this.beat();
      } catch (e) {
        console.warn(`cannot send a heartbeat: ${(e as Error).message}`);
      }
      await sleep(interval, undefined, { signal }).catch(() => {});
    }
  }

  private async announce(): Promise<void> {
    const body = JSON.stringify({
      WorkerId: this.workerId,
      Version: version,
      Timestamp: this.startedAt,
      Functions: functions.map((f) => ({
        Name: f.name,
        Description: f.description,
        Parameters: f.parameters.map((p) => ({
          Name: p.name, Type: p.type ?? 'string', Required: p.required ?? false, Description: p.description, Secret: p.secret ?? false,
        })),
        Result: (f.result ?? []).map((r) => ({ Name: r.name, Description: r.description })),
        TimeoutSeconds: f.timeout,
      })),
    });
    await this.message('worker-catalog', `catalog-${createHash('sha256').update(body).digest('hex').slice(0, 32)}`, body);
  }

  async beat(stopping = false): Promise<void> {
    const now = new Date();
    const jobs = [...this.jobs.inFlight]; // oldest first
    const body = {
      WorkerId: this.workerId,
      ReplicaId: this.replicaId,
      Version: version,
      StartedAt: this.startedAt,
      Timestamp: now,
      MaxParallelism: this.jobs.parallelism,
      JobsInFlight: jobs.slice(0, maxJobs).map(([id]) => id),
      InFlight: jobs.length,
      OldestJobAt: jobs[0]?.[1],
      TakenThrough: this.jobs.takenThrough,
      Stopping: stopping || undefined,
    };
    await this.message('worker-heartbeat', `heartbeat-${this.workerId}-${this.replicaId}-${now.getTime()}`, JSON.stringify(body));
  }

  private message(messageType: string, messageId: string, body: string): Promise<void> {
    return this.send({
      body: Buffer.from(body), messageId, contentType: 'application/json',
      applicationProperties: { MessageType: messageType, WorkerId: this.workerId },
    });
  }
}
