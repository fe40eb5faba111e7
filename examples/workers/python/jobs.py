"""Receives jobs, runs their functions, sends the results and settles the jobs."""

import asyncio
import logging
import time
from collections import OrderedDict
from datetime import datetime, timezone

from azure.servicebus.aio import AutoLockRenewer
from azure.servicebus.exceptions import MessageLockLostError, ServiceBusError

import contract
import names
from contract import Failure
from functions import FUNCTIONS

log = logging.getLogger(__name__)

MAX_TRIES = 10  # deliveries of a job that is never answered
MAX_REMEMBERED = 500  # jobs whose results are kept for further deliveries
WAIT = 1  # seconds that a receive waits for a job


class Jobs:
    def __init__(self, client, worker_id, parallelism, controls, send):
        self._client, self._worker_id, self._controls, self._send = client, worker_id, controls, send
        self.parallelism = parallelism
        self._runs = OrderedDict()  # runs of jobs by key, also those that have ended
        self._deliveries = set()
        self.in_flight = {}  # message ids of jobs, with the time when each began
        self.taken_through = None  # latest DispatchedAt of the jobs that began

    async def run(self, stopping, grace):
        """Takes jobs until stopping is set, then waits for the jobs in flight."""
        receiver = self._client.get_subscription_receiver(names.JOBS, names.PREFIX + self._worker_id)
        async with receiver, AutoLockRenewer() as renewer:
            while not stopping.is_set():
                try:
                    await self._receive(receiver, renewer)
                except ServiceBusError as e:
                    log.warning("cannot receive jobs: %s", e)
                    await asyncio.sleep(1)
            if self._deliveries:
                await asyncio.wait(self._deliveries, timeout=grace)
            for delivery in self._deliveries:
                delivery.cancel()  # abandons the job
            await asyncio.gather(*self._deliveries, return_exceptions=True)

    async def _receive(self, receiver, renewer):
        """Receives as many jobs as can begin at once, so that a received job always begins."""
        free = self.parallelism - len(self._deliveries)
        if free == 0:
            await asyncio.wait(self._deliveries, return_when=asyncio.FIRST_COMPLETED)
        elif not self._controls.current(margin=5 * WAIT):
            await asyncio.sleep(0.1)
        else:
            for m in await receiver.receive_messages(free, max_wait_time=WAIT):
                delivery = asyncio.create_task(self._handle(receiver, renewer, m))
                self._deliveries.add(delivery)
                delivery.add_done_callback(self._deliveries.discard)

    async def _handle(self, receiver, renewer, m):
        """Answers and settles one delivery. A job that is not settled comes again."""
        try:
            renewer.register(receiver, m, max_lock_renewal_duration=24 * 3600)
            try:
                job = contract.read_job(m)
            except contract.Unreadable as e:
                await receiver.dead_letter_message(m, reason="UnreadableJob", error_description=str(e))
                return
            tries = m.delivery_count + 1 - property_of(m, "NotBegun", 0)
            if tries > MAX_TRIES and job.key not in self._runs:
                await receiver.dead_letter_message(m, reason="MaxDeliveryCountExceeded", error_description="the job was begun %d times" % MAX_TRIES)
                return
            try:
                result = await self._answer(job, again=tries > 1 or property_of(m, "Redelivered", False))
                await self._send(result)
            except BaseException:  # also CancelledError, when the worker stops
                await receiver.abandon_message(m)
                raise
            await receiver.complete_message(m)
        except MessageLockLostError:
            log.warning("lost the lock of %s: it comes again", m.message_id)
        except Exception:
            log.exception("cannot answer %s: it comes again", m.message_id)

    async def _answer(self, job, again):
        """Returns the result. Further deliveries of a job join its run or get its result."""
        if job.key not in self._runs:
            refusal = self._refusal(job, again)
            if refusal:
                return contract.failure(job, refusal)
            self._runs[job.key] = asyncio.create_task(self._run(job))
            while len(self._runs) > MAX_REMEMBERED + self.parallelism:
                self._runs.popitem(last=False)
        return await self._runs[job.key]

    def _refusal(self, job, again):
        """Returns why the job must not begin. Again: another delivery of it may have begun."""
        if job.invalid:
            return Failure("InvalidJob", job.invalid)
        if self._controls.revokes(job):
            return Failure("JobRevoked", "%s was not begun: its batch was paused or cancelled" % job.function, redelivered=again)
        if job.expires_at and job.expires_at <= datetime.now(timezone.utc):
            return Failure("JobExpired", "%s was not begun: the job expired at %s" % (job.function, contract.write_time(job.expires_at)), redelivered=again)
        return None

    async def _run(self, job):
        self.in_flight[job.message_id] = datetime.now(timezone.utc)
        if job.dispatched_at:
            self.taken_through = max(job.dispatched_at, self.taken_through or job.dispatched_at)
        began = time.monotonic()
        try:
            value = await self._call(job)
            return contract.success(job, value, milliseconds(began))
        except Failure as e:
            log.warning("%s of %s failed: %s", job.function, job.message_id, e.type)
            return contract.failure(job, e, milliseconds(began))
        finally:
            del self.in_flight[job.message_id]

    async def _call(self, job):
        function = next((f for f in FUNCTIONS if f.name.lower() == job.function.lower()), None)
        if function is None:
            raise Failure("UnknownFunction", "there is no function %s" % job.function)
        parameters = contract.check(job.parameters, function)
        timeout = function.timeout
        if job.expires_at:
            timeout = min(timeout, (job.expires_at - datetime.now(timezone.utc)).total_seconds())
        try:
            return await asyncio.wait_for(function.call(job, parameters), timeout)
        except TimeoutError:
            raise Failure("Timeout", "%s did not finish within %d seconds" % (function.name, timeout)) from None
        except Failure:
            raise
        except Exception as e:
            log.error("%s of %s raised %s", job.function, job.message_id, type(e).__name__)  # the text may hold personal data
            raise Failure(type(e).__name__, "%s failed: %s" % (function.name, e)) from e


def property_of(message, name, default):
    """Returns an application property, whose name the package gives as bytes."""
    return (message.application_properties or {}).get(name.encode(), default)


def milliseconds(began):
    return int((time.monotonic() - began) * 1000)
