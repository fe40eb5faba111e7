import os
import time
from contextlib import contextmanager
from datetime import datetime, timedelta, timezone

from azure.identity import ClientSecretCredential
from azure.servicebus import ServiceBusClient, ServiceBusMessage, ServiceBusReceiveMode, ServiceBusSubQueue, TransportType
from azure.servicebus.exceptions import MessageLockLostError, MessageNotFoundError, MessageSizeExceededError, MessagingEntityNotFoundError
from azure.servicebus.management import ServiceBusAdministrationClient

cases = {}
ENV = os.environ
# The options of a client that uses TLS.
SECURE = {"custom_endpoint_address": "sb://" + ENV["SERVICEBUS_ADDRESS"], "connection_verify": ENV["CA_FILE"], "retry_total": 0}


def case(name):
    def add(f):
        cases[name] = f
        return f

    return add


@case("send-and-receive")
def _():
    with queue("orders") as (sender, receiver, _):
        properties = {"text": "t", "number": 5, "yes": True}
        sender.send_messages(ServiceBusMessage("b", message_id="id-1", subject="s", correlation_id="c", content_type="text/plain", application_properties=properties))
        [m] = receive(receiver, 1)
        equal((str(m), m.message_id, m.subject, m.correlation_id, m.content_type), ("b", "id-1", "s", "c", "text/plain"))
        equal(m.application_properties, {b"text": b"t", b"number": 5, b"yes": True})
        equal(m.delivery_count, 0)
        receiver.complete_message(m)
        equal(receiver.peek_messages(1), [])


@case("tls")
def _():
    round_trip(ServiceBusClient.from_connection_string(ENV["SERVICEBUS_TLS_CONNECTION_STRING"], **SECURE))


@case("websockets")
def _():
    round_trip(ServiceBusClient.from_connection_string(ENV["SERVICEBUS_TLS_CONNECTION_STRING"], transport_type=TransportType.AmqpOverWebsocket, **SECURE))


@case("token-credential")
def _():
    credential = ClientSecretCredential(
        ENV["TENANT_ID"], ENV["CLIENT_ID"], ENV["CLIENT_SECRET"], authority=ENV["ENTRA_AUTHORITY"], disable_instance_discovery=True, connection_verify=ENV["CA_FILE"]
    )
    round_trip(ServiceBusClient("localhost", credential, **SECURE))


@case("batch")
def _():
    with queue("orders") as (sender, receiver, _):
        batch = sender.create_message_batch()
        for i in range(20):
            batch.add_message(ServiceBusMessage(str(i)))
        sender.send_messages(batch)
        messages = receive(receiver, 20)
        equal([str(m) for m in messages], [str(i) for i in range(20)])
        for m in messages:
            receiver.complete_message(m)


@case("schedule")
def _():
    with queue("orders") as (sender, receiver, _):
        due = after(1)
        sender.schedule_messages(ServiceBusMessage("later"), due)
        [m] = receive(receiver, 1)
        equal((str(m), datetime.now(timezone.utc) >= due), ("later", True))
        receiver.complete_message(m)


@case("cancel")
def _():
    with queue("orders") as (sender, receiver, _):
        numbers = sender.schedule_messages(ServiceBusMessage("never"), after(60))
        sender.cancel_scheduled_messages(numbers)
        equal(receiver.peek_messages(1), [])
        fails(MessageNotFoundError, lambda: sender.cancel_scheduled_messages(numbers))


@case("peek")
def _():
    with queue("orders") as (sender, receiver, _):
        equal(receiver.peek_messages(5), [])
        sender.send_messages([ServiceBusMessage("a"), ServiceBusMessage("b")])
        equal([str(m) for m in receiver.peek_messages(5)], ["a", "b"])


@case("peek-scheduled")
def _():
    with queue("orders") as (sender, receiver, _):
        numbers = sender.schedule_messages(ServiceBusMessage("later"), after(60))
        [m] = receiver.peek_messages(1)
        equal((str(m), m.state.name, m.sequence_number), ("later", "SCHEDULED", numbers[0]))
        sender.cancel_scheduled_messages(numbers)


@case("abandon")
def _():
    with queue("orders") as (sender, receiver, _):
        sender.send_messages(ServiceBusMessage("a"))
        receiver.abandon_message(receive(receiver, 1)[0])  # this package cannot change properties
        [m] = receive(receiver, 1)
        equal((str(m), m.delivery_count), ("a", 1))
        receiver.complete_message(m)


@case("defer")
def _():
    with queue("orders") as (sender, receiver, _):
        sender.send_messages(ServiceBusMessage("a"))
        [m] = receive(receiver, 1)
        receiver.defer_message(m)
        [deferred] = receiver.receive_deferred_messages(m.sequence_number)
        equal((str(deferred), deferred.state.name), ("a", "DEFERRED"))
        receiver.complete_message(deferred)
        equal(receiver.peek_messages(1), [])


@case("dead-letter")
def _():
    with queue("orders") as (sender, receiver, dead):
        sender.send_messages(ServiceBusMessage("a"))
        receiver.dead_letter_message(receive(receiver, 1)[0], reason="bad", error_description="very bad")
        [m] = receive(dead, 1)
        equal((str(m), m.dead_letter_reason, m.dead_letter_error_description), ("a", "bad", "very bad"))
        dead.complete_message(m)


@case("delivery-count")
def _():
    with queue("orders") as (sender, receiver, dead):
        sender.send_messages(ServiceBusMessage("a"))
        for i in range(3):
            [m] = receive(receiver, 1)
            equal(m.delivery_count, i)
            receiver.abandon_message(m)
        [m] = receive(dead, 1)
        equal(m.dead_letter_reason, "MaxDeliveryCountExceeded")
        dead.complete_message(m)


@case("renew-lock")
def _():
    with queue("orders") as (sender, receiver, _):
        sender.send_messages(ServiceBusMessage("a"))
        [m] = receive(receiver, 1)
        before = m.locked_until_utc
        time.sleep(0.01)
        equal(receiver.renew_message_lock(m) > before, True)
        receiver.complete_message(m)


@case("lock-lost")
def _():
    with queue("short-lock") as (sender, receiver, _):
        sender.send_messages(ServiceBusMessage("a"))
        [m] = receive(receiver, 1)
        time.sleep((m.locked_until_utc - datetime.now(timezone.utc)).total_seconds() + 0.2)
        fails(MessageLockLostError, lambda: receiver.complete_message(m))
        fails(MessageLockLostError, lambda: receiver.renew_message_lock(m))


@case("message-not-found")
def _():
    with queue("orders") as (sender, receiver, _):
        numbers = sender.schedule_messages(ServiceBusMessage("a"), after(60))  # not a deferred one
        fails(MessageNotFoundError, lambda: receiver.receive_deferred_messages(numbers))
        sender.cancel_scheduled_messages(numbers)


@case("entity-not-found")
def _():
    with connect() as client:
        fails(MessagingEntityNotFoundError, lambda: client.get_queue_sender("nowhere").send_messages(ServiceBusMessage("a")))


@case("duplicate-detection")
def _():
    with queue("unique") as (sender, receiver, _):
        identity = str(time.time())
        sender.send_messages(ServiceBusMessage("a", message_id=identity))
        sender.send_messages(ServiceBusMessage("b", message_id=identity))
        equal([str(m) for m in receiver.peek_messages(5)], ["a"])


@case("subscription-filter")
def _():
    with connect() as client:
        with client.get_topic_sender("events") as sender:
            sender.send_messages([ServiceBusMessage(region, application_properties={"Region": region}) for region in ("north", "south")])
        for name, want in (("all", ["north", "south"]), ("north", ["north"])):
            with client.get_subscription_receiver("events", name) as receiver:
                equal([str(m) for m in receiver.peek_messages(5)], want)
                for m in receive(receiver, len(want)):
                    receiver.complete_message(m)


@case("message-too-large")
def _():
    with queue("orders") as (sender, _, _):
        fails(MessageSizeExceededError, lambda: sender.send_messages(ServiceBusMessage(b"x" * (300 << 10))))


@case("sessions")
def _():
    with connect() as client, client.get_queue_receiver("orders", session_id="s1") as receiver:
        receiver.receive_messages(1, max_wait_time=1)


@case("administration")
def _():
    text = ENV["SERVICEBUS_TLS_CONNECTION_STRING"].replace("localhost", ENV["SERVICEBUS_ADDRESS"])
    ServiceBusAdministrationClient.from_connection_string(text, connection_verify=ENV["CA_FILE"], retry_total=0).get_queue("orders")


def after(seconds):
    now = datetime.now(timezone.utc)
    return now.replace(microsecond=now.microsecond // 1000 * 1000) + timedelta(seconds=seconds)  # AMQP has milliseconds


def connect():
    return ServiceBusClient.from_connection_string(ENV["SERVICEBUS_CONNECTION_STRING"], retry_total=0)


@contextmanager
def open_queue(client, name):
    """Yields a sender and receivers of an empty queue."""
    with client.get_queue_receiver(name, receive_mode=ServiceBusReceiveMode.RECEIVE_AND_DELETE) as drain:
        while drain.receive_messages(50, max_wait_time=0.2):
            pass
    # Each of them connects when it is used first.
    sender, receiver = client.get_queue_sender(name), client.get_queue_receiver(name)
    dead = client.get_queue_receiver(name, sub_queue=ServiceBusSubQueue.DEAD_LETTER)
    try:
        yield sender, receiver, dead
    finally:
        for link in (sender, receiver, dead):
            link.close()


@contextmanager
def queue(name):
    with connect() as client, open_queue(client, name) as links:
        yield links


def round_trip(client):
    """Sends, receives and completes a message."""
    with client, open_queue(client, "orders") as (sender, receiver, _):
        sender.send_messages(ServiceBusMessage("hello"))
        [m] = receive(receiver, 1)
        equal(str(m), "hello")
        receiver.complete_message(m)


def receive(receiver, n):
    """Returns n messages, or fewer after five seconds without a message."""
    messages = []
    while len(messages) < n:
        got = receiver.receive_messages(n - len(messages), max_wait_time=5)
        if not got:
            break
        messages += got
    return messages


def fails(error, f):
    """Checks the type of an error."""
    try:
        f()
    except error:
        return
    raise AssertionError("no " + error.__name__)


def equal(got, want):
    assert got == want, "got %r, want %r" % (got, want)
