"""Announces the functions of the worker and sends its heartbeats."""

import asyncio
import hashlib
import json
import logging
import uuid
from datetime import datetime, timezone

from azure.servicebus import ServiceBusMessage

from contract import write_time
from functions import FUNCTIONS

log = logging.getLogger(__name__)

VERSION = "1.0.0"
INTERVAL = 30  # seconds
MAX_JOBS = 500  # that a heartbeat lists


class Presence:
    def __init__(self, worker_id, jobs, send):
        self._worker_id, self._jobs, self._send = worker_id, jobs, send
        self._replica_id = uuid.uuid4().hex
        self._started_at = datetime.now(timezone.utc)

    async def run(self):
        announced = False
        while True:
            try:
                if not announced:
                    await self._announce()
                    announced = True
                await self.beat()
            except Exception as e:
                log.warning("cannot send a heartbeat: %s: %s", type(e).__name__, e)
            await asyncio.sleep(INTERVAL)

    async def _announce(self):
        body = json.dumps({
            "WorkerId": self._worker_id,
            "Version": VERSION,
            "Timestamp": write_time(self._started_at),
            "Functions": [
                {
                    "Name": f.name,
                    "Description": f.description,
                    "Parameters": [
                        {"Name": p.name, "Type": p.type, "Required": p.required, "Description": p.description, "Secret": p.secret}
                        for p in f.parameters
                    ],
                    "Result": [{"Name": name, "Description": description} for name, description in f.result],
                    "TimeoutSeconds": f.timeout,
                }
                for f in FUNCTIONS
            ],
        })
        await self._message("worker-catalog", "catalog-" + hashlib.sha256(body.encode()).hexdigest()[:32], body)

    async def beat(self, stopping=False):
        now = datetime.now(timezone.utc)
        jobs = sorted(self._jobs.in_flight.items(), key=lambda job: job[1])
        body = {
            "WorkerId": self._worker_id,
            "ReplicaId": self._replica_id,
            "Version": VERSION,
            "StartedAt": write_time(self._started_at),
            "Timestamp": write_time(now),
            "MaxParallelism": self._jobs.parallelism,
            "JobsInFlight": [message_id for message_id, _ in jobs[:MAX_JOBS]],
            "InFlight": len(jobs),
        }
        if jobs:
            body["OldestJobAt"] = write_time(jobs[0][1])
        if self._jobs.taken_through:
            body["TakenThrough"] = write_time(self._jobs.taken_through)
        if stopping:
            body["Stopping"] = True
        message_id = "heartbeat-%s-%s-%d" % (self._worker_id, self._replica_id, now.timestamp() * 1000)
        await self._message("worker-heartbeat", message_id, json.dumps(body))

    async def _message(self, message_type, message_id, body):
        properties = {"MessageType": message_type, "WorkerId": self._worker_id}
        await self._send(ServiceBusMessage(body.encode(), message_id=message_id, content_type="application/json", application_properties=properties))
