"""Starts the worker: python worker.py. README.md lists the settings."""

import asyncio
import logging
import os
import signal

from azure.identity.aio import DefaultAzureCredential
from azure.servicebus.aio import ServiceBusClient

import names
from control import Controls
from jobs import Jobs
from presence import Presence

GRACE = 25  # seconds for the jobs in flight after SIGTERM


def connect():
    connection = os.environ.get("ServiceBusConnection")
    if connection:
        return ServiceBusClient.from_connection_string(connection)
    return ServiceBusClient(os.environ["ServiceBusConnection__fullyQualifiedNamespace"], DefaultAzureCredential())


async def main():
    worker_id, parallelism = os.environ["WORKER_ID"], int(os.environ.get("MAX_PARALLELISM", "8"))
    stopping = asyncio.Event()
    for name in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(name, stopping.set)

    async with connect() as client, client.get_topic_sender(names.RESULTS) as sender:
        turn = asyncio.Lock()  # a sender sends one message at a time

        async def send(message):
            async with turn:
                await sender.send_messages(message)

        controls = Controls(client, worker_id)
        jobs = Jobs(client, worker_id, parallelism, controls, send)
        presence = Presence(worker_id, jobs, send)
        background = [asyncio.create_task(controls.run()), asyncio.create_task(presence.run())]
        await jobs.run(stopping, GRACE)
        for task in background:
            task.cancel()
        await asyncio.gather(*background, return_exceptions=True)
        await presence.beat(stopping=True)


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    logging.getLogger("azure").setLevel(logging.WARNING)
    asyncio.run(main())
