"""Reads which jobs the orchestrator has revoked because their batch was paused or cancelled."""

import asyncio
import logging
import time

import contract
import names

log = logging.getLogger(__name__)

INTERVAL = 5  # seconds between two reads
MAX_AGE = 20  # seconds after which the worker begins no job


class Controls:
    def __init__(self, client, worker_id):
        self._client, self._worker_id = client, worker_id
        self._revoked = {}  # by batch: jobs dispatched until this time are revoked
        self._read_at = float("-inf")

    async def run(self):
        while True:
            try:
                async with self._client.get_subscription_receiver(names.CONTROL, names.PREFIX + self._worker_id) as receiver:
                    while True:
                        began = time.monotonic()
                        await asyncio.wait_for(self._read(receiver), MAX_AGE / 2)
                        self._read_at = began
                        await asyncio.sleep(INTERVAL)
            except Exception as e:
                log.warning("cannot read controls: %s: %s", type(e).__name__, e)
                await asyncio.sleep(1)

    async def _read(self, receiver):
        """Peeks all messages: the broker drops them when their time to live ends."""
        revoked, number = {}, 1
        while messages := await receiver.peek_messages(100, sequence_number=number):
            for m in messages:
                number = m.sequence_number + 1
                try:
                    body = contract.read_json(m)
                    batch, through = body["batchid"], contract.read_time(body["revokedthrough"])
                    revoked[batch] = max(through, revoked.get(batch, through))
                except (contract.Unreadable, KeyError, TypeError, ValueError) as e:
                    log.error("control %s cannot be read: %s", m.message_id, e)
        self._revoked = revoked

    def current(self, margin=0):
        """Tells whether jobs may begin: the controls were read recently."""
        return time.monotonic() - self._read_at < MAX_AGE - margin

    def revokes(self, job):
        through = self._revoked.get(job.batch_id)
        return through is not None and job.dispatched_at is not None and job.dispatched_at <= through
