// Jobs, functions and results as docs/write-a-worker.md defines them.
import type { ServiceBusMessage } from '@azure/service-bus';
import { isSafeNumber, LosslessNumber, parse, stringify } from 'lossless-json';

const maxBody = 240 << 10; // bytes
const maxError = 4000; // characters

export interface Parameter {
  name: string;
  description: string;
  required?: boolean;
  type?: string;
  secret?: boolean; // never logged or shown
}

export interface WorkerFunction {
  name: string;
  description: string;
  parameters: Parameter[];
  result?: { name: string; description: string }[]; // without fields the function returns true
  timeout: number; // seconds
  call(job: Job, parameters: Record<string, string>, signal: AbortSignal): Promise<boolean | object>;
}

// Failure is the failure of a job. Its message must not contain secrets.
export class Failure extends Error {
  constructor(readonly type: string, message: string, readonly options: { throttled?: boolean; retryAfter?: number; redelivered?: boolean } = {}) {
    super(message);
  }
}

// Unreadable is a message that does not say whom to answer.
export class Unreadable extends Error {}

export interface Job {
  id: string;
  batchId: number;
  messageId: string;
  correlation: object;
  function: string;
  parameters: object;
  effectId: string;
  secrets: string[];
  dispatchedAt?: Date;
  expiresAt?: Date;
  invalid?: string; // why the job cannot be done
}

type Fields = Record<string, unknown>;

// readJson returns a body as an object whose names are in lower case. Integers keep all their digits.
export function readJson(body: unknown): Fields {
  if (!Buffer.isBuffer(body)) throw new Unreadable('the body is not made of AMQP data');
  let value: unknown;
  try {
    value = parse(body.toString('utf8'), null, (text) => (isSafeNumber(text) ? Number(text) : new LosslessNumber(text)));
  } catch (e) {
    throw new Unreadable(`the body is not JSON: ${(e as Error).message}`);
  }
  if (!isObject(value)) throw new Unreadable('the body is not a JSON object');
  return lower(value);
}

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null && !Array.isArray(value);

const lower = (value: object): Fields => Object.fromEntries(Object.entries(value).map(([name, v]) => [name.toLowerCase(), v]));

export function readJob(message: { body: unknown }): Job {
  const body = readJson(message.body);
  const correlation = body.correlationdata;
  const ids = isObject(correlation) ? lower(correlation) : {};
  if (typeof body.jobid !== 'string' || !body.jobid || typeof ids.batchid !== 'number' || !ids.stepexecutionid) {
    throw new Unreadable('no JobId and CorrelationData to answer to');
  }
  const messageId = `batch-${ids.batchid}-${body.jobid}`;
  const job: Job = {
    id: body.jobid, batchId: ids.batchid, messageId, correlation: correlation as object,
    function: '', parameters: {}, effectId: messageId, secrets: [],
  };
  try {
    job.dispatchedAt = readTime(body.dispatchedat);
    job.expiresAt = readTime(body.expiresat);
  } catch (e) {
    job.invalid = `the job cannot be read: ${(e as Error).message}`;
  }
  if (typeof body.effectid === 'string' && body.effectid) job.effectId = body.effectid;
  if (Array.isArray(body.secrets)) job.secrets = body.secrets.filter((text) => typeof text === 'string' && text);
  if (typeof body.functionname === 'string' && body.functionname) job.function = body.functionname;
  else job.invalid = 'the job names no function';
  if (isObject(body.parameters)) job.parameters = body.parameters;
  else if (body.parameters != null) job.invalid = "the job's Parameters are not a JSON object";
  return job;
}

// keyOf identifies the work of a job: a restored store may assign the ids of jobs again.
export const keyOf = (job: Job): string => stringify([job.messageId, job.function, Object.entries(job.parameters).sort()])!;

export function readTime(text: unknown): Date | undefined {
  if (text == null || text === '') return undefined;
  const time = new Date(String(text));
  if (Number.isNaN(time.getTime())) throw new TypeError(`${text} is not a time`);
  return time;
}

// check returns the parameters with the declared names, or throws a Failure.
export function check(parameters: object, fn: WorkerFunction): Record<string, string> {
  const checked: Record<string, string> = {};
  for (const [name, value] of Object.entries(parameters)) {
    const parameter = fn.parameters.find((p) => p.name.toLowerCase() === name.toLowerCase());
    if (!parameter) throw new Failure('InvalidParameters', `${fn.name} has no parameter ${name}`);
    if (typeof value !== 'string') throw new Failure('InvalidParameters', `parameter ${name} of ${fn.name} is not text`);
    checked[parameter.name] = value;
  }
  for (const p of fn.parameters) {
    if (p.required && !checked[p.name]) throw new Failure('InvalidParameters', `${fn.name} needs the parameter ${p.name}`);
  }
  return checked;
}

export function success(job: Job, value: unknown, milliseconds: number): ServiceBusMessage {
  const invalid = (text: string) => failure(job, new Failure('InvalidResult', `the result of ${job.function} ${text}`), milliseconds);
  if (typeof value !== 'boolean' && !isObject(value)) return invalid('is neither a boolean nor an object');
  let body: Buffer;
  try {
    body = result(job, milliseconds, { Status: 'Success', ResultType: typeof value === 'boolean' ? 'Boolean' : 'Object', Result: value, Error: null });
  } catch (e) {
    return invalid(`is not JSON: ${(e as Error).message}`);
  }
  return body.length > maxBody ? invalid(`has ${body.length} bytes; at most ${maxBody} can be sent`) : message(job, 'result', body);
}

export function failure(job: Job, error: Failure, milliseconds = 0): ServiceBusMessage {
  const { throttled = false, retryAfter, redelivered } = error.options;
  const secrets = [...job.secrets].sort((a, b) => b.length - a.length);
  const text = secrets.reduce((t, secret) => t.replaceAll(secret, '***'), error.message).slice(0, maxError);
  const details = {
    Message: text, Type: error.type, IsThrottled: throttled, Attempts: 1,
    ...(retryAfter ? { RetryAfterSeconds: retryAfter } : {}), ...(redelivered ? { Redelivered: true } : {}),
  };
  return message(job, redelivered ? 'refuse' : 'result', result(job, milliseconds, { Status: 'Failure', Result: null, Error: details }));
}

const result = (job: Job, milliseconds: number, fields: object): Buffer => Buffer.from(stringify({
  ...fields, JobId: job.id, CorrelationData: job.correlation, DurationMs: milliseconds, Timestamp: new Date().toISOString(),
})!);

const message = (job: Job, prefix: string, body: Buffer): ServiceBusMessage => ({
  body, messageId: `${prefix}-${job.messageId}`, correlationId: job.id, contentType: 'application/json',
  applicationProperties: { MessageType: 'worker-result' },
});
