import assert from 'node:assert/strict';
import { ServiceBusClient } from '@azure/service-bus';

const retryOptions = { maxRetries: 0, timeoutInMs: 10000 };

export const cases = {
  'send-and-receive': () => queue('orders', async ({ sender, receiver }) => {
    const sent = { body: 'b', messageId: 'id-1', subject: 's', correlationId: 'c', contentType: 'text/plain', applicationProperties: { text: 't', number: 5, yes: true } };
    await sender.sendMessages(sent);
    const [m] = await receive(receiver, 1);
    assert.deepEqual(Object.fromEntries(Object.keys(sent).map((name) => [name, m[name]])), sent);
    assert.equal(m.deliveryCount, 0);
    await receiver.completeMessage(m);
    assert.deepEqual(await receiver.peekMessages(1), []);
  }),
  batch: () => queue('orders', async ({ sender, receiver }) => {
    const batch = await sender.createMessageBatch();
    for (let i = 0; i < 20; i++) assert.ok(batch.tryAddMessage({ body: i }));
    await sender.sendMessages(batch);
    const all = await receive(receiver, 20);
    assert.deepEqual(all.map((m) => m.body), [...Array(20).keys()]);
    for (const m of all) await receiver.completeMessage(m);
  }),
  peek: () => queue('orders', async ({ sender, receiver }) => {
    assert.deepEqual(await receiver.peekMessages(5), []);
    await sender.sendMessages([{ body: 'a' }, { body: 'b' }]);
    assert.deepEqual((await receiver.peekMessages(5)).map((m) => m.body), ['a', 'b']);
  }),
  sessions: () => connect((client) => client.acceptSession('orders', 's1')),
};

// connect calls f with a client, and closes the client.
async function connect(f) {
  const client = new ServiceBusClient(process.env.SERVICEBUS_CONNECTION_STRING, { retryOptions });
  try { return await f(client); } finally { await client.close(); }
}

// queue calls f with a sender and a receiver of an empty queue.
const queue = (name, f) => connect(async (client) => {
  const drain = client.createReceiver(name, { receiveMode: 'receiveAndDelete' });
  while ((await drain.receiveMessages(50, { maxWaitTimeInMs: 200 })).length);
  await drain.close();
  return f({ client, sender: client.createSender(name), receiver: client.createReceiver(name, { maxAutoLockRenewalDurationInMs: 0 }) });
});

// receive returns n messages, or fewer after five seconds without a message.
async function receive(receiver, n, wait = 5000) {
  const all = [];
  while (all.length < n) {
    const got = await receiver.receiveMessages(n - all.length, { maxWaitTimeInMs: wait });
    if (!got.length) break;
    all.push(...got);
  }
  return all;
}
