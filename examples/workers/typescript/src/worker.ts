// Starts the worker: npm start. The README lists the settings.
import { DefaultAzureCredential } from '@azure/identity';
import { ServiceBusClient, type ServiceBusMessage } from '@azure/service-bus';
import { Controls } from './control.js';
import { Jobs } from './jobs.js';
import { resultsTopic } from './names.js';
import { Presence } from './presence.js';

const grace = 25_000; // milliseconds for the jobs in flight after SIGTERM

function setting(name: string): string {
  const value = process.env[name];
  if (!value) throw new Error(`the environment variable ${name} is not set`);
  return value;
}

function connect(): ServiceBusClient {
  const connection = process.env.ServiceBusConnection;
  if (connection) return new ServiceBusClient(connection);
  return new ServiceBusClient(setting('ServiceBusConnection__fullyQualifiedNamespace'), new DefaultAzureCredential());
}

const workerId = setting('WORKER_ID');
const stopping = new AbortController();
for (const name of ['SIGTERM', 'SIGINT'] as const) process.once(name, () => stopping.abort());

const client = connect();
const sender = client.createSender(resultsTopic);
const send = (message: ServiceBusMessage) => sender.sendMessages(message);
const controls = new Controls(client, workerId);
const jobs = new Jobs(client, workerId, Number(process.env.MAX_PARALLELISM ?? '8'), controls, send);
const presence = new Presence(workerId, jobs, send);

const background = new AbortController();
const running = [controls.run(background.signal), presence.run(background.signal)];
await jobs.run(stopping.signal, grace);
background.abort();
await Promise.all(running);
await presence.beat(true);
await client.close();
process.exit(0); // a function that ignores its signal may still run
