// Receives jobs, runs their functions, sends the results and settles the jobs.
import { setTimeout as sleep } from 'node:timers/promises';
import { ServiceBusError, type ServiceBusClient, type ServiceBusMessage, type ServiceBusReceivedMessage, type ServiceBusReceiver } from '@azure/service-bus';
import { check, failure, Failure, keyOf, readJob, success, Unreadable, type Job } from './contract.js';
import type { Controls } from './control.js';
import { functions } from './functions.js';
import { jobsTopic, subscriptionPrefix } from './names.js';

const maxTries = 10; // deliveries of a job that is never answered
const maxRemembered = 500; // jobs whose results are kept for further deliveries
const wait = 1_000; // milliseconds that a receive waits for a job

export type Send = (message: ServiceBusMessage) => Promise<void>;

export class Jobs {
  private readonly runs = new Map<string, Promise<ServiceBusMessage>>(); // by job, also those that have ended
  private readonly deliveries = new Map<ServiceBusReceivedMessage, Promise<void>>();
  readonly inFlight = new Map<string, Date>(); // message ids of jobs, with the time when each began
  takenThrough?: Date; // latest dispatchedAt of the jobs that began

  constructor(
    private readonly client: ServiceBusClient, private readonly workerId: string, readonly parallelism: number,
    private readonly controls: Controls, private readonly send: Send,
  ) {}

  // run takes jobs until the signal, then waits for the jobs in flight.
  async run(stopping: AbortSignal, grace: number): Promise<void> {
    const receiver = this.client.createReceiver(jobsTopic, subscriptionPrefix + this.workerId, {
      skipParsingBodyAsJson: true, maxAutoLockRenewalDurationInMs: 24 * 3600 * 1000,
    });
    while (!stopping.aborted) {
      try {
        await this.receive(receiver);
      } catch (e) {
        console.warn(`cannot receive jobs: ${(e as Error).message}`);
        await sleep(1000);
      }
    }
    await Promise.race([Promise.all(this.deliveries.values()), sleep(grace, undefined, { ref: false })]);
    await Promise.allSettled([...this.deliveries.keys()].map((m) => receiver.abandonMessage(m)));
    await receiver.close();
  }

  // receive receives as many jobs as can begin at once, so that a received job always begins.
  private async receive(receiver: ServiceBusReceiver): Promise<void> {
    const free = this.parallelism - this.deliveries.size;
    if (free === 0) {
      await Promise.race(this.deliveries.values());
    } else if (!this.controls.current(5 * wait)) {
      await sleep(100);
    } else {
      for (const m of await receiver.receiveMessages(free, { maxWaitTimeInMs: wait })) {
        this.deliveries.set(m, this.handle(receiver, m).finally(() => this.deliveries.delete(m)));
      }
    }
  }

  // handle answers and settles one delivery. A job that is not settled comes again.
  private async handle(receiver: ServiceBusReceiver, m: ServiceBusReceivedMessage): Promise<void> {
    try {
      let job: Job;
      try {
        job = readJob(m);
      } catch (e) {
        if (!(e instanceof Unreadable)) throw e;
        await receiver.deadLetterMessage(m, { deadLetterReason: 'UnreadableJob', deadLetterErrorDescription: e.message });
        return;
      }
      const properties = m.applicationProperties ?? {};
      const tries = (m.deliveryCount ?? 0) + 1 - Number(properties.NotBegun ?? 0);
      if (tries > maxTries && !this.runs.has(keyOf(job))) {
        await receiver.deadLetterMessage(m, { deadLetterReason: 'MaxDeliveryCountExceeded', deadLetterErrorDescription: `the job was begun ${maxTries} times` });
        return;
      }
      try {
        await this.send(await this.answer(job, tries > 1 || properties.Redelivered === true));
      } catch (e) {
        await receiver.abandonMessage(m);
        throw e;
      }
      await receiver.completeMessage(m);
    } catch (e) {
      const lost = e instanceof ServiceBusError && e.code === 'MessageLockLost';
      console.warn(`${lost ? 'lost the lock of' : 'cannot answer'} ${m.messageId}: it comes again`, lost ? '' : e);
    }
  }

  // answer returns the result. Further deliveries of a job join its run or get its result.
  private answer(job: Job, again: boolean): Promise<ServiceBusMessage> {
    const key = keyOf(job);
    let run = this.runs.get(key);
    if (!run) {
      const refusal = this.refusal(job, again);
      if (refusal) return Promise.resolve(failure(job, refusal));
      run = this.work(job);
      this.runs.set(key, run);
      for (const oldest of this.runs.keys()) {
        if (this.runs.size <= maxRemembered + this.parallelism) break;
        this.runs.delete(oldest);
      }
    }
    return run;
  }

  // refusal returns why the job must not begin. Again: another delivery of it may have begun.
  private refusal(job: Job, again: boolean): Failure | undefined {
    if (job.invalid) return new Failure('InvalidJob', job.invalid);
    if (this.controls.revokes(job)) {
      return new Failure('JobRevoked', `${job.function} was not begun: its batch was paused or cancelled`, { redelivered: again });
    }
    if (job.expiresAt && job.expiresAt <= new Date()) {
      return new Failure('JobExpired', `${job.function} was not begun: the job expired at ${job.expiresAt.toISOString()}`, { redelivered: again });
    }
    return undefined;
  }

  private async work(job: Job): Promise<ServiceBusMessage> {
    this.inFlight.set(job.messageId, new Date());
    if (job.dispatchedAt && !(this.takenThrough && this.takenThrough > job.dispatchedAt)) this.takenThrough = job.dispatchedAt;
    const began = performance.now();
    const milliseconds = () => Math.round(performance.now() - began);
    try {
      return success(job, await this.call(job), milliseconds());
    } catch (e) {
      // The text of an unexpected error may hold personal data: it is not logged.
      const known = e instanceof Failure ? e : new Failure((e as Error).name ?? 'Error', `${job.function} failed: ${(e as Error).message ?? e}`);
      console.warn(`${job.function} of ${job.messageId} failed: ${known.type}`);
      return failure(job, known, milliseconds());
    } finally {
      this.inFlight.delete(job.messageId);
    }
  }

  private async call(job: Job): Promise<unknown> {
    const fn = functions.find((f) => f.name.toLowerCase() === job.function.toLowerCase());
    if (!fn) throw new Failure('UnknownFunction', `there is no function ${job.function}`);
    const parameters = check(job.parameters, fn);
    const timeout = Math.min(fn.timeout * 1000, job.expiresAt ? job.expiresAt.getTime() - Date.now() : Infinity);
    const stop = new AbortController();
    const late = sleep(timeout, undefined, { signal: stop.signal, ref: false }).then(() => {
      throw new Failure('Timeout', `${fn.name} did not finish within ${Math.round(timeout / 1000)} seconds`);
    });
    try {
      return await Promise.race([fn.call(job, parameters, stop.signal), late]);
    } finally {
      late.catch(() => {}); // the abort ends the sleep
      stop.abort();
    }
  }
}
