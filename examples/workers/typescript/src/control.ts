// Reads which jobs the orchestrator has revoked because their batch was paused or cancelled.
import { setTimeout as sleep } from 'node:timers/promises';
import type { ServiceBusClient, ServiceBusReceiver } from '@azure/service-bus';
import Long from 'long';
import { readJson, readTime, type Job } from './contract.js';
import { controlTopic, subscriptionPrefix } from './names.js';

const interval = 5_000; // milliseconds between two reads
const maxAge = 20_000; // milliseconds after which the worker begins no job

export class Controls {
  private revoked = new Map<number, Date>(); // by batch: jobs dispatched until this time are revoked
  private readAt = -Infinity;

  constructor(private readonly client: ServiceBusClient, private readonly workerId: string) {}

  async run(signal: AbortSignal): Promise<void> {
    const receiver = this.client.createReceiver(controlTopic, subscriptionPrefix + this.workerId, { skipParsingBodyAsJson: true });
    while (!signal.aborted) {
      const began = performance.now();
      try {
        await this.read(receiver);
        this.readAt = began;
        await sleep(interval, undefined, { signal });
      } catch (e) {
        if (signal.aborted) break;
        console.warn(`cannot read controls: ${(e as Error).message}`);
        await sleep(1000);
      }
    }
    await receiver.close();
  }

  // read peeks all messages: the broker drops them when their time to live ends.
  private async read(receiver: ServiceBusReceiver): Promise<void> {
    const revoked = new Map<number, Date>();
    const abortSignal = AbortSignal.timeout(maxAge / 2);
    for (let from = Long.ONE; ;) {
      const found = await receiver.peekMessages(100, { fromSequenceNumber: from, abortSignal });
      if (found.length === 0) break;
      for (const m of found) {
        from = m.sequenceNumber!.add(1);
        try {
          const body = readJson(m.body);
          const through = readTime(body.revokedthrough);
          if (typeof body.batchid !== 'number' || !through) throw new TypeError('BatchId or RevokedThrough is missing');
          const known = revoked.get(body.batchid);
          if (!known || known < through) revoked.set(body.batchid, through);
        } catch (e) {
          console.error(`control ${m.messageId} cannot be read: ${(e as Error).message}`);
        }
      }
    }
    this.revoked = revoked;
  }

  // current reports whether jobs may begin: the controls were read recently.
  current(margin: number): boolean {
    return performance.now() - this.readAt < maxAge - margin;
  }

  revokes(job: Job): boolean {
    const through = this.revoked.get(job.batchId);
    return through !== undefined && job.dispatchedAt !== undefined && job.dispatchedAt <= through;
  }
}
