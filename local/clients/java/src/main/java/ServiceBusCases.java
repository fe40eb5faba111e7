import com.azure.core.amqp.AmqpRetryOptions;
import com.azure.messaging.servicebus.ServiceBusClientBuilder;
import com.azure.messaging.servicebus.ServiceBusMessage;
import com.azure.messaging.servicebus.ServiceBusMessageBatch;
import com.azure.messaging.servicebus.ServiceBusReceivedMessage;
import com.azure.messaging.servicebus.ServiceBusReceiverClient;
import com.azure.messaging.servicebus.ServiceBusSenderClient;
import com.azure.messaging.servicebus.models.ServiceBusReceiveMode;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

class ServiceBusCases {
    static final Map<String, Main.Case> CASES = new TreeMap<>();

    static {
        CASES.put("send-and-receive", () -> queue("orders", (sender, receiver) -> {
            var sent = new ServiceBusMessage("b").setMessageId("id-1").setSubject("s").setCorrelationId("c").setContentType("text/plain");
            sent.getApplicationProperties().putAll(Map.of("text", "t", "number", 5L, "yes", true));
            sender.sendMessage(sent);
            var m = receive(receiver, 1).get(0);
            Main.equal(List.of(m.getBody().toString(), m.getMessageId(), m.getSubject(), m.getCorrelationId(), m.getContentType()), List.of("b", "id-1", "s", "c", "text/plain"));
            Main.equal(m.getApplicationProperties(), Map.of("text", "t", "number", 5L, "yes", true));
            Main.equal(m.getDeliveryCount(), 0L);
            receiver.complete(m);
            Main.equal(receiver.peekMessages(1).stream().toList(), List.of());
        }));
        CASES.put("batch", () -> queue("orders", (sender, receiver) -> {
            ServiceBusMessageBatch batch = sender.createMessageBatch();
            var want = new ArrayList<String>();
            for (int i = 0; i < 20; i++) {
                want.add("" + i);
                batch.tryAddMessage(new ServiceBusMessage("" + i));
            }
            sender.sendMessages(batch);
            var all = receive(receiver, 20);
            Main.equal(all.stream().map(m -> m.getBody().toString()).toList(), want);
            all.forEach(receiver::complete);
        }));
        CASES.put("peek", () -> queue("orders", (sender, receiver) -> {
            Main.equal(receiver.peekMessages(5).stream().toList(), List.of());
            sender.sendMessages(List.of(new ServiceBusMessage("a"), new ServiceBusMessage("b")));
            Main.equal(receiver.peekMessages(5).stream().map(m -> m.getBody().toString()).toList(), List.of("a", "b"));
        }));
        CASES.put("sessions", () -> {
            try (var sessions = client().sessionReceiver().queueName("orders").buildClient(); var receiver = sessions.acceptSession("s1")) {
                receiver.receiveMessages(1, Duration.ofSeconds(1)).forEach(m -> {});
            }
        });
    }

    static ServiceBusClientBuilder client() {
        return new ServiceBusClientBuilder().connectionString(System.getenv("SERVICEBUS_CONNECTION_STRING"))
            .retryOptions(new AmqpRetryOptions().setMaxRetries(0).setTryTimeout(Duration.ofSeconds(10)));
    }

    interface Use {
        void use(ServiceBusSenderClient sender, ServiceBusReceiverClient receiver) throws Exception;
    }

    /** Calls use with a sender and a receiver of an empty queue. */
    static void queue(String name, Use use) throws Exception {
        try (var drain = client().receiver().queueName(name).receiveMode(ServiceBusReceiveMode.RECEIVE_AND_DELETE).buildClient()) {
            while (drain.receiveMessages(50, Duration.ofMillis(200)).stream().count() > 0) {}
        }
        try (var sender = client().sender().queueName(name).buildClient();
                var receiver = client().receiver().queueName(name).maxAutoLockRenewDuration(Duration.ZERO).buildClient()) {
            use.use(sender, receiver);
        }
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
}
