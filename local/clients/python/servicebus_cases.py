import os
from contextlib import contextmanager

from azure.servicebus import ServiceBusClient, ServiceBusMessage, ServiceBusReceiveMode

cases = {}


def case(name):
    def add(f):
        cases[name] = f
        return f

    return add


@case("send-and-receive")
def _():
    with queue("orders") as (_, sender, receiver):
        properties = {"text": "t", "number": 5, "yes": True}
        sender.send_messages(ServiceBusMessage("b", message_id="id-1", subject="s", correlation_id="c", content_type="text/plain", application_properties=properties))
        [m] = receive(receiver, 1)
        equal((str(m), m.message_id, m.subject, m.correlation_id, m.content_type), ("b", "id-1", "s", "c", "text/plain"))
        equal(m.application_properties, {b"text": b"t", b"number": 5, b"yes": True})
        equal(m.delivery_count, 0)
        receiver.complete_message(m)
        equal(receiver.peek_messages(1), [])


@case("batch")
def _():
    with queue("orders") as (_, sender, receiver):
        batch = sender.create_message_batch()
        for i in range(20):
            batch.add_message(ServiceBusMessage(str(i)))
        sender.send_messages(batch)
        messages = receive(receiver, 20)
        equal([str(m) for m in messages], [str(i) for i in range(20)])
        for m in messages:
            receiver.complete_message(m)


@case("peek")
def _():
    with queue("orders") as (_, sender, receiver):
        equal(receiver.peek_messages(5), [])
        sender.send_messages([ServiceBusMessage("a"), ServiceBusMessage("b")])
        equal([str(m) for m in receiver.peek_messages(5)], ["a", "b"])


@case("sessions")
def _():
    with connect() as client, client.get_queue_receiver("orders", session_id="s1") as receiver:
        receiver.receive_messages(1, max_wait_time=1)


def connect():
    return ServiceBusClient.from_connection_string(os.environ["SERVICEBUS_CONNECTION_STRING"], retry_total=0)


@contextmanager
def queue(name):
    """Yields a client with a sender and a receiver of an empty queue."""
    with connect() as client:
        with client.get_queue_receiver(name, receive_mode=ServiceBusReceiveMode.RECEIVE_AND_DELETE) as drain:
            while drain.receive_messages(50, max_wait_time=0.2):
                pass
        with client.get_queue_sender(name) as sender, client.get_queue_receiver(name) as receiver:
            yield client, sender, receiver


def receive(receiver, n, wait=5):
    """Returns n messages, or fewer after five seconds without a message."""
    messages = []
    while len(messages) < n:
        got = receiver.receive_messages(n - len(messages), max_wait_time=wait)
        if not got:
            break
        messages += got
    return messages


def equal(got, want):
    assert got == want, "got %r, want %r" % (got, want)
