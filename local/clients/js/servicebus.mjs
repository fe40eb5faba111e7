import assert from 'node:assert/strict';
import { ClientSecretCredential } from '@azure/identity';
import { ServiceBusAdministrationClient, ServiceBusClient } from '@azure/service-bus';
import WebSocket from 'ws';

const env = process.env;
const retryOptions = { maxRetries: 0, timeoutInMs: 10000 };
const secure = { customEndpointAddress: `sb://${env.SERVICEBUS_ADDRESS}`, retryOptions };

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
  tls: () => close(new ServiceBusClient(env.SERVICEBUS_TLS_CONNECTION_STRING, secure), roundTrip),
  websockets: () => close(new ServiceBusClient(env.SERVICEBUS_TLS_CONNECTION_STRING, { ...secure, webSocketOptions: { webSocket: WebSocket } }), roundTrip),
  'token-credential': () => {
    const options = { authorityHost: env.ENTRA_AUTHORITY, disableInstanceDiscovery: true };
    const credential = new ClientSecretCredential(env.TENANT_ID, env.CLIENT_ID, env.CLIENT_SECRET, options);
    return close(new ServiceBusClient('localhost', credential, secure), roundTrip);
  },
  batch: () => queue('orders', async ({ sender, receiver }) => {
    const batch = await sender.createMessageBatch();
    for (let i = 0; i < 20; i++) assert.ok(batch.tryAddMessage({ body: i }));
    await sender.sendMessages(batch);
    const all = await receive(receiver, 20);
    assert.deepEqual(all.map((m) => m.body), [...Array(20).keys()]);
    for (const m of all) await receiver.completeMessage(m);
  }),
  schedule: () => queue('orders', async ({ sender, receiver }) => {
    const due = Date.now() + 1000;
    await sender.scheduleMessages({ body: 'later' }, new Date(due));
    const [m] = await receive(receiver, 1);
    assert.ok(m.body === 'later' && Date.now() >= due);
    await receiver.completeMessage(m);
  }),
  cancel: () => queue('orders', async ({ sender, receiver }) => {
    const [number] = await sender.scheduleMessages([{ body: 'never' }], inAMinute());
    await sender.cancelScheduledMessages(number);
    assert.deepEqual(await receiver.peekMessages(1), []);
    await fails('MessageNotFound', sender.cancelScheduledMessages(number));
  }),
  peek: () => queue('orders', async ({ sender, receiver }) => {
    assert.deepEqual(await receiver.peekMessages(5), []);
    await sender.sendMessages([{ body: 'a' }, { body: 'b' }]);
    assert.deepEqual((await receiver.peekMessages(5)).map((m) => m.body), ['a', 'b']);
  }),
  'peek-scheduled': () => queue('orders', async ({ sender, receiver }) => {
    const [number] = await sender.scheduleMessages([{ body: 'later' }], inAMinute());
    const [m] = await receiver.peekMessages(1);
    assert.deepEqual([m.body, m.state, `${m.sequenceNumber}`], ['later', 'scheduled', `${number}`]);
    await sender.cancelScheduledMessages(number);
  }),
  abandon: () => queue('orders', async ({ sender, receiver }) => {
    await sender.sendMessages({ body: 'a' });
    await receiver.abandonMessage((await receive(receiver, 1))[0], { why: 'busy' });
    const [m] = await receive(receiver, 1);
    assert.deepEqual([m.deliveryCount, m.applicationProperties.why], [1, 'busy']);
    await receiver.completeMessage(m);
  }),
  defer: () => queue('orders', async ({ sender, receiver }) => {
    await sender.sendMessages({ body: 'a' });
    const [m] = await receive(receiver, 1);
    await receiver.deferMessage(m);
    const [deferred] = await receiver.receiveDeferredMessages(m.sequenceNumber);
    assert.deepEqual([deferred.body, deferred.state], ['a', 'deferred']);
    await receiver.completeMessage(deferred);
    assert.deepEqual(await receiver.peekMessages(1), []);
  }),
  'dead-letter': () => queue('orders', async ({ sender, receiver, dead }) => {
    await sender.sendMessages({ body: 'a' });
    await receiver.deadLetterMessage((await receive(receiver, 1))[0], { deadLetterReason: 'bad', deadLetterErrorDescription: 'very bad' });
    const [m] = await receive(dead, 1);
    assert.deepEqual([m.body, m.deadLetterReason, m.deadLetterErrorDescription], ['a', 'bad', 'very bad']);
    await dead.completeMessage(m);
  }),
  'delivery-count': () => queue('orders', async ({ sender, receiver, dead }) => {
    await sender.sendMessages({ body: 'a' });
    for (let i = 0; i < 3; i++) {
      const [m] = await receive(receiver, 1);
      assert.equal(m.deliveryCount, i);
      await receiver.abandonMessage(m);
    }
    const [m] = await receive(dead, 1);
    assert.equal(m.deadLetterReason, 'MaxDeliveryCountExceeded');
    await dead.completeMessage(m);
  }),
  'renew-lock': () => queue('orders', async ({ sender, receiver }) => {
    await sender.sendMessages({ body: 'a' });
    const [m] = await receive(receiver, 1);
    const before = m.lockedUntilUtc;
    await wait(10);
    assert.ok(await receiver.renewMessageLock(m) > before);
    await receiver.completeMessage(m);
  }),
  'lock-lost': () => queue('short-lock', async ({ sender, receiver }) => {
    await sender.sendMessages({ body: 'a' });
    const [m] = await receive(receiver, 1);
    await wait(m.lockedUntilUtc - Date.now() + 200);
    await fails('MessageLockLost', receiver.completeMessage(m));
    await fails('MessageLockLost', receiver.renewMessageLock(m));
  }),
  'message-not-found': () => queue('orders', async ({ sender, receiver }) => {
    const [number] = await sender.scheduleMessages([{ body: 'a' }], inAMinute()); // not a deferred one
    await fails('MessageNotFound', receiver.receiveDeferredMessages(number));
    await sender.cancelScheduledMessages(number);
  }),
  'entity-not-found': () => connect((client) => fails('MessagingEntityNotFound', client.createSender('nowhere').sendMessages({ body: 'a' }))),
  'duplicate-detection': () => queue('unique', async ({ sender, receiver }) => {
    const messageId = `${Date.now()}`;
    await sender.sendMessages([{ body: 'a', messageId }]);
    await sender.sendMessages([{ body: 'b', messageId }]);
    assert.deepEqual((await receiver.peekMessages(5)).map((m) => m.body), ['a']);
  }),
  'subscription-filter': () => connect(async (client) => {
    const messages = ['north', 'south'].map((Region) => ({ body: Region, applicationProperties: { Region } }));
    await client.createSender('events').sendMessages(messages);
    for (const [name, want] of [['all', ['north', 'south']], ['north', ['north']]]) {
      const receiver = client.createReceiver('events', name);
      assert.deepEqual((await receiver.peekMessages(5)).map((m) => m.body), want);
      for (const m of await receive(receiver, want.length)) await receiver.completeMessage(m);
    }
  }),
  'message-too-large': () => queue('orders', async ({ sender }) => {
    await fails('MessageSizeExceeded', sender.sendMessages({ body: Buffer.alloc(300 << 10) }));
  }),
  sessions: () => connect((client) => client.acceptNextSession('orders')),
  rules: () => connect((client) => client.createRuleManager('events', 'all').createRule('south', { sqlExpression: "Region = 'south'" })),
  administration: () => {
    const connectionString = env.SERVICEBUS_TLS_CONNECTION_STRING.replace('localhost', env.SERVICEBUS_ADDRESS);
    return new ServiceBusAdministrationClient(connectionString, { retryOptions }).getQueue('orders');
  },
};

const wait = (ms) => new Promise((end) => setTimeout(end, ms));
const inAMinute = () => new Date(Date.now() + 60000);

// close calls f with a client, and closes the client.
async function close(client, f) {
  try { return await f(client); } finally { await client.close(); }
}

// connect calls f with a client without TLS.
const connect = (f) => close(new ServiceBusClient(env.SERVICEBUS_CONNECTION_STRING, { retryOptions }), f);

// open calls f with a sender and receivers of an empty queue.
async function open(client, name, f) {
  const drain = client.createReceiver(name, { receiveMode: 'receiveAndDelete' });
  while ((await drain.receiveMessages(50, { maxWaitTimeInMs: 200 })).length);
  await drain.close();
  return f({
    sender: client.createSender(name),
    receiver: client.createReceiver(name, { maxAutoLockRenewalDurationInMs: 0 }),
    dead: client.createReceiver(name, { subQueueType: 'deadLetter' }),
  });
}

const queue = (name, f) => connect((client) => open(client, name, f));

// roundTrip sends, receives and completes a message.
const roundTrip = (client) => open(client, 'orders', async ({ sender, receiver }) => {
  await sender.sendMessages({ body: 'hello' });
  const [m] = await receive(receiver, 1);
  assert.equal(m.body, 'hello');
  await receiver.completeMessage(m);
});

// receive returns n messages, or fewer after five seconds without a message.
async function receive(receiver, n) {
  const all = [];
  while (all.length < n) {
    const got = await receiver.receiveMessages(n - all.length, { maxWaitTimeInMs: 5000 });
    if (!got.length) break;
    all.push(...got);
  }
  return all;
}

// fails checks the code of an error.
async function fails(code, promise) {
  try { await promise; } catch (e) { assert.equal(e.code, code, `${e.code}: ${e.message}`); return; }
  assert.fail(`no error ${code}`);
}
