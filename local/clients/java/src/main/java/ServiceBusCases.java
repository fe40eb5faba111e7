import com.azure.core.amqp.AmqpRetryOptions;
import com.azure.core.amqp.AmqpTransportType;
import com.azure.core.http.HttpPipelineCallContext;
import com.azure.identity.ClientSecretCredentialBuilder;
import com.azure.messaging.servicebus.ServiceBusClientBuilder;
import com.azure.messaging.servicebus.ServiceBusException;
import com.azure.messaging.servicebus.ServiceBusFailureReason;
import com.azure.messaging.servicebus.ServiceBusMessage;
import com.azure.messaging.servicebus.ServiceBusMessageBatch;
import com.azure.messaging.servicebus.ServiceBusReceivedMessage;
import com.azure.messaging.servicebus.ServiceBusReceiverClient;
import com.azure.messaging.servicebus.ServiceBusSenderClient;
import com.azure.messaging.servicebus.administration.ServiceBusAdministrationClientBuilder;
import com.azure.messaging.servicebus.administration.models.CreateRuleOptions;
import com.azure.messaging.servicebus.administration.models.SqlRuleFilter;
import com.azure.messaging.servicebus.models.AbandonOptions;
import com.azure.messaging.servicebus.models.DeadLetterOptions;
import com.azure.messaging.servicebus.models.ServiceBusMessageState;
import com.azure.messaging.servicebus.models.ServiceBusReceiveMode;
import com.azure.messaging.servicebus.models.SubQueue;
import java.time.Duration;
import java.time.OffsetDateTime;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

class ServiceBusCases {
    static final Map<String, Main.Case> CASES = new TreeMap<>();

    static {
        CASES.put("send-and-receive", () -> queue("orders", (sender, receiver) -> {
            var sent = message("b").setMessageId("id-1").setSubject("s").setCorrelationId("c").setContentType("text/plain");
            sent.getApplicationProperties().putAll(Map.of("text", "t", "number", 5L, "yes", true));
            sender.sendMessage(sent);
            var m = receive(receiver, 1).get(0);
            Main.equal(List.of(m.getBody().toString(), m.getMessageId(), m.getSubject(), m.getCorrelationId(), m.getContentType()), List.of("b", "id-1", "s", "c", "text/plain"));
            Main.equal(m.getApplicationProperties(), Map.of("text", "t", "number", 5L, "yes", true));
            Main.equal(m.getDeliveryCount(), 0L);
            receiver.complete(m);
            Main.equal(peek(receiver), List.of());
        }));
        CASES.put("tls", () -> roundTrip(secure().connectionString(System.getenv("SERVICEBUS_TLS_CONNECTION_STRING"))));
        CASES.put("websockets", () -> roundTrip(secure().connectionString(System.getenv("SERVICEBUS_TLS_CONNECTION_STRING")).transportType(AmqpTransportType.AMQP_WEB_SOCKETS)));
        CASES.put("token-credential", () -> roundTrip(secure().credential("localhost", new ClientSecretCredentialBuilder()
            .tenantId(System.getenv("TENANT_ID")).clientId(System.getenv("CLIENT_ID")).clientSecret(System.getenv("CLIENT_SECRET"))
            .authorityHost(System.getenv("ENTRA_AUTHORITY")).disableInstanceDiscovery().build())));
        CASES.put("batch", () -> queue("orders", (sender, receiver) -> {
            ServiceBusMessageBatch batch = sender.createMessageBatch();
            var want = new ArrayList<String>();
            for (int i = 0; i < 20; i++) {
                want.add("" + i);
                batch.tryAddMessage(message("" + i));
            }
            sender.sendMessages(batch);
            var all = receive(receiver, 20);
            Main.equal(bodies(all), want);
            all.forEach(receiver::complete);
        }));
        CASES.put("schedule", () -> queue("orders", (sender, receiver) -> {
            var due = after(1);
            sender.scheduleMessage(message("later"), due);
            var m = receive(receiver, 1).get(0);
            Main.equal(List.of(m.getBody().toString(), OffsetDateTime.now().isBefore(due)), List.of("later", false));
            receiver.complete(m);
        }));
        CASES.put("cancel", () -> queue("orders", (sender, receiver) -> {
            long number = sender.scheduleMessage(message("never"), after(60));
            sender.cancelScheduledMessage(number);
            Main.equal(peek(receiver), List.of());
            sender.cancelScheduledMessage(number); // this package ignores that no message is found
        }));
        CASES.put("peek", () -> queue("orders", (sender, receiver) -> {
            Main.equal(peek(receiver), List.of());
            sender.sendMessages(List.of(message("a"), message("b")));
            Main.equal(peek(receiver), List.of("a", "b"));
        }));
        CASES.put("peek-scheduled", () -> queue("orders", (sender, receiver) -> {
            long number = sender.scheduleMessage(message("later"), after(60));
            var m = receiver.peekMessage();
            Main.equal(List.of(m.getBody().toString(), m.getState(), m.getSequenceNumber()), List.of("later", ServiceBusMessageState.SCHEDULED, number));
            sender.cancelScheduledMessage(number);
        }));
        CASES.put("abandon", () -> queue("orders", (sender, receiver) -> {
            sender.sendMessage(message("a"));
            receiver.abandon(receive(receiver, 1).get(0), new AbandonOptions().setPropertiesToModify(Map.of("why", "busy")));
            var m = receive(receiver, 1).get(0);
            Main.equal(List.of(m.getDeliveryCount(), m.getApplicationProperties().get("why")), List.of(1L, "busy"));
            receiver.complete(m);
        }));
        CASES.put("defer", () -> queue("orders", (sender, receiver) -> {
            sender.sendMessage(message("a"));
            var m = receive(receiver, 1).get(0);
            receiver.defer(m);
            var deferred = receiver.receiveDeferredMessage(m.getSequenceNumber());
            Main.equal(List.of(deferred.getBody().toString(), deferred.getState()), List.of("a", ServiceBusMessageState.DEFERRED));
            receiver.complete(deferred);
            Main.equal(peek(receiver), List.of());
        }));
        CASES.put("dead-letter", () -> queue("orders", (sender, receiver) -> {
            sender.sendMessage(message("a"));
            receiver.deadLetter(receive(receiver, 1).get(0), new DeadLetterOptions().setDeadLetterReason("bad").setDeadLetterErrorDescription("very bad"));
            try (var dead = dead("orders")) {
                var m = receive(dead, 1).get(0);
                Main.equal(List.of(m.getBody().toString(), m.getDeadLetterReason(), m.getDeadLetterErrorDescription()), List.of("a", "bad", "very bad"));
                dead.complete(m);
            }
        }));
        CASES.put("delivery-count", () -> queue("orders", (sender, receiver) -> {
            sender.sendMessage(message("a"));
            for (long i = 0; i < 3; i++) {
                var m = receive(receiver, 1).get(0);
                Main.equal(m.getDeliveryCount(), i);
                receiver.abandon(m);
            }
            try (var dead = dead("orders")) {
                var m = receive(dead, 1).get(0);
                Main.equal(m.getDeadLetterReason(), "MaxDeliveryCountExceeded");
                dead.complete(m);
            }
        }));
        CASES.put("renew-lock", () -> queue("orders", (sender, receiver) -> {
            sender.sendMessage(message("a"));
            var m = receive(receiver, 1).get(0);
            var before = m.getLockedUntil();
            Thread.sleep(10);
            Main.equal(receiver.renewMessageLock(m).isAfter(before), true);
            receiver.complete(m);
        }));
        CASES.put("lock-lost", () -> queue("short-lock", (sender, receiver) -> {
            sender.sendMessage(message("a"));
            var m = receive(receiver, 1).get(0);
            Thread.sleep(Duration.between(OffsetDateTime.now(), m.getLockedUntil()).toMillis() + 200);
            fails(ServiceBusFailureReason.MESSAGE_LOCK_LOST, () -> receiver.renewMessageLock(m));
            fails(ServiceBusFailureReason.MESSAGE_LOCK_LOST, () -> receiver.complete(m));
        }));
        CASES.put("message-not-found", () -> queue("orders", (sender, receiver) -> {
            long number = sender.scheduleMessage(message("a"), after(60)); // not a deferred one
            Main.equal(receiver.receiveDeferredMessageBatch(List.of(number)).stream().toList(), List.of()); // this package returns no error
            sender.cancelScheduledMessage(number);
        }));
        CASES.put("entity-not-found", () -> {
            try (var sender = client().sender().queueName("nowhere").buildClient()) {
                fails(ServiceBusFailureReason.MESSAGING_ENTITY_NOT_FOUND, () -> sender.sendMessage(message("a")));
            }
        });
        CASES.put("duplicate-detection", () -> queue("unique", (sender, receiver) -> {
            var id = "" + System.nanoTime();
            sender.sendMessage(message("a").setMessageId(id));
            sender.sendMessage(message("b").setMessageId(id));
            Main.equal(peek(receiver), List.of("a"));
        }));
        CASES.put("subscription-filter", () -> {
            try (var sender = client().sender().topicName("events").buildClient()) {
                for (var region : List.of("north", "south")) {
                    var sent = message(region);
                    sent.getApplicationProperties().put("Region", region);
                    sender.sendMessage(sent);
                }
            }
            for (var want : Map.of("all", List.of("north", "south"), "north", List.of("north")).entrySet()) {
                try (var receiver = client().receiver().topicName("events").subscriptionName(want.getKey()).buildClient()) {
                    Main.equal(peek(receiver), want.getValue());
                    receive(receiver, want.getValue().size()).forEach(receiver::complete);
                }
            }
        });
        CASES.put("message-too-large", () -> queue("orders", (sender, receiver) ->
            fails(ServiceBusFailureReason.MESSAGE_SIZE_EXCEEDED, () -> sender.sendMessage(new ServiceBusMessage(new byte[300 << 10])))));
        CASES.put("sessions", () -> {
            try (var sessions = client().sessionReceiver().queueName("orders").buildClient(); var receiver = sessions.acceptSession("s1")) {
                receiver.receiveMessages(1, Duration.ofSeconds(1)).forEach(m -> {});
            }
        });
        CASES.put("transactions", () -> queue("orders", (sender, receiver) -> {
            var transaction = sender.createTransaction();
            sender.sendMessage(message("a"), transaction);
            sender.commitTransaction(transaction);
        }));
        CASES.put("rules", () -> {
            try (var rules = client().ruleManager().topicName("events").subscriptionName("all").buildClient()) {
                rules.createRule("south", new CreateRuleOptions(new SqlRuleFilter("Region = 'south'")));
            }
        });
        CASES.put("administration", () -> new ServiceBusAdministrationClientBuilder()
            .connectionString(System.getenv("SERVICEBUS_TLS_CONNECTION_STRING"))
            .addPolicy((context, next) -> {
                toAddress(context);
                return next.process();
            })
            .buildClient().getQueue("orders"));
    }

    /** Sends the request to SERVICEBUS_ADDRESS: the administration client knows no custom endpoint. */
    static void toAddress(HttpPipelineCallContext context) {
        context.getHttpRequest().setUrl(context.getHttpRequest().getUrl().toString().replaceFirst("localhost(:\\d+)?", System.getenv("SERVICEBUS_ADDRESS")));
    }

    static ServiceBusClientBuilder client() {
        return builder().connectionString(System.getenv("SERVICEBUS_CONNECTION_STRING"));
    }

    /** Returns a builder of a client that uses TLS. */
    static ServiceBusClientBuilder secure() {
        return builder().customEndpointAddress("https://" + System.getenv("SERVICEBUS_ADDRESS"));
    }

    static ServiceBusClientBuilder builder() {
        return new ServiceBusClientBuilder().retryOptions(new AmqpRetryOptions().setMaxRetries(0).setTryTimeout(Duration.ofSeconds(10)));
    }

    interface Use {
        void use(ServiceBusSenderClient sender, ServiceBusReceiverClient receiver) throws Exception;
    }

    static void queue(String name, Use use) throws Exception {
        open(client(), name, use);
    }

    /** Calls use with a sender and a receiver of an empty queue. */
    static void open(ServiceBusClientBuilder client, String name, Use use) throws Exception {
        try (var drain = client.receiver().queueName(name).receiveMode(ServiceBusReceiveMode.RECEIVE_AND_DELETE).buildClient()) {
            while (drain.receiveMessages(50, Duration.ofMillis(200)).stream().count() > 0) {}
        }
        try (var sender = client.sender().queueName(name).buildClient();
                var receiver = client.receiver().queueName(name).maxAutoLockRenewDuration(Duration.ZERO).buildClient()) {
            use.use(sender, receiver);
        }
    }

    static ServiceBusReceiverClient dead(String name) {
        return client().receiver().queueName(name).subQueue(SubQueue.DEAD_LETTER_QUEUE).buildClient();
    }

    /** Sends, receives and completes a message. */
    static void roundTrip(ServiceBusClientBuilder client) throws Exception {
        open(client, "orders", (sender, receiver) -> {
            sender.sendMessage(message("hello"));
            var m = receive(receiver, 1).get(0);
            Main.equal(m.getBody().toString(), "hello");
            receiver.complete(m);
        });
    }

    /** Returns n messages, or fewer after five seconds without a message. */
    static List<ServiceBusReceivedMessage> receive(ServiceBusReceiverClient receiver, int n) {
        var all = new ArrayList<ServiceBusReceivedMessage>();
        while (all.size() < n) {
            var got = receiver.receiveMessages(n - all.size(), Duration.ofSeconds(5)).stream().toList();
            if (got.isEmpty()) {
                break;
            }
            all.addAll(got);
        }
        return all;
    }

    static List<String> peek(ServiceBusReceiverClient receiver) {
        return bodies(receiver.peekMessages(5).stream().toList());
    }

    static List<String> bodies(List<ServiceBusReceivedMessage> messages) {
        return messages.stream().map(m -> m.getBody().toString()).toList();
    }

    static ServiceBusMessage message(String body) {
        return new ServiceBusMessage(body);
    }

    static OffsetDateTime after(int seconds) {
        return OffsetDateTime.now().truncatedTo(ChronoUnit.MILLIS).plusSeconds(seconds); // AMQP has milliseconds
    }

    /** Checks the reason of an error. */
    static void fails(ServiceBusFailureReason reason, Runnable f) {
        try {
            f.run();
        } catch (ServiceBusException e) {
            Main.equal(e.getReason(), reason);
            return;
        }
        throw new AssertionError("no error " + reason);
    }
}
