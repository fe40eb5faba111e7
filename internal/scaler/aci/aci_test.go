package aci_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"

	"github.com/matoolkit/matoolkit/internal/scaler"
	"github.com/matoolkit/matoolkit/internal/scalertest"
	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/arm"
)

func start(t *testing.T, settings map[string]string) *scalertest.Azure {
	t.Helper()
	return scalertest.Start(t, scalertest.Config{Settings: settings})
}

func TestMessagesAreReadAndNothingIsSettled(t *testing.T) {
	t.Parallel()
	a := start(t, nil)
	a.Send("a", "n1", `{"file_size_mb":50}`)
	a.Send("b", "s1", `{"data":{"file_size_mb":7.5}}`)
	a.Send("a", "n2", `nonsense`)
	before := a.Bus.Stats()
	for range 2 { // a second look finds the same
		waiting := testenv.Must(a.Waiting(t.Context()))(t)
		var subs, messages []string
		for _, s := range waiting.Subscriptions {
			subs = append(subs, fmt.Sprintf("%s %d %s %q", s.Name, s.MaxDeliveries, s.LockDuration, s.Blocked))
		}
		for _, m := range waiting.Messages {
			messages = append(messages, fmt.Sprintf("%s/%s %d %s%s", m.Subscription, m.ID, m.Deliveries, m.Size.MB, m.Size.Problem))
		}
		wantSubs := []string{
			`a 3 1m0s ""`, `b 3 1m0s ""`, `c 3 1m0s ""`, `s 3 1m0s "it requires sessions: the scaler cannot peek at it"`, `x 3 1m0s "its status is Disabled"`,
		}
		if !slices.Equal(subs, wantSubs) || !slices.Equal(messages, []string{"a/n1 0 50", "a/n2 0 body_not_json", "b/s1 0 7.5"}) {
			t.Errorf("subscriptions %q, messages %q", subs, messages)
		}
	}
	after := a.Bus.Stats()
	for name, entity := range after.Entities {
		was := before.Entities[name]
		if entity.Messages != was.Messages || entity.Delivered+entity.Completed+entity.Abandoned+entity.DeadLettered != was.Delivered+was.Completed+was.Abandoned+was.DeadLettered {
			t.Errorf("%s was %+v and is %+v", name, was, entity)
		}
	}
}

func TestMessagesAreReadWithTheManagedIdentity(t *testing.T) {
	t.Parallel()
	a := start(t, map[string]string{"SB_CONNECTION_STR": ""})
	a.SendSize("a", "n1", 50)
	if waiting, err := a.Waiting(t.Context()); err != nil || len(waiting.Messages) != 1 || waiting.Messages[0].ID != "n1" {
		t.Errorf("messages %+v, %v", waiting.Messages, err)
	}
}

// TestOnlyTheIDOfTheMetadataAndTheSizeAreUsed: a message has other properties, among them an id in its body.
func TestOnlyTheIDOfTheMetadataAndTheSizeAreUsed(t *testing.T) {
	t.Parallel()
	a := start(t, nil)
	const body = `{"messageId": "of-the-body", "messageType": "osw_validation_only|osw_validation_only", "publishedDate": "2025-03-20T13:18:42.501Z", "message": "", "data": {"file_size_mb": 50}}`
	a.Send("a", "of-the-metadata", body)
	waiting := testenv.Must(a.Waiting(t.Context()))(t)
	if len(waiting.Messages) != 1 || waiting.Messages[0].ID != "of-the-metadata" || waiting.Messages[0].Size != (scaler.Size{MB: "50"}) {
		t.Errorf("messages %+v", waiting.Messages)
	}
}

func TestASubscriptionThatCannotBeReadDoesNotHinderTheOthers(t *testing.T) {
	t.Parallel()
	more := func(name, forward string) arm.Subscription {
		return arm.Subscription{Name: name, MaxDeliveries: 3, LockDuration: scalertest.LockDuration, ForwardTo: forward}
	}
	a := scalertest.Start(t, scalertest.Config{Subscriptions: []arm.Subscription{more("0-gone", ""), more("forwards", "archive")}})
	a.Send("a", "n1", `{"file_size_mb":50}`)
	waiting := testenv.Must(a.Waiting(t.Context()))(t)
	blocked := map[string]string{}
	for _, s := range waiting.Subscriptions {
		blocked[s.Name] = s.Blocked
	}
	if len(waiting.Messages) != 1 || waiting.Messages[0].ID != "n1" || blocked["a"] != "" || !strings.HasPrefix(blocked["0-gone"], "it cannot be read: ") ||
		blocked["forwards"] != "it forwards its messages to archive: no container can receive from it" {
		t.Errorf("messages %+v, blocked %q", waiting.Messages, blocked)
	}
}

func TestDeliveryCountsAreThoseOfTheBroker(t *testing.T) {
	t.Parallel()
	a := start(t, nil)
	a.Send("a", "n1", `{"file_size_mb":50}`)
	for want := range scalertest.MaxDeliveries {
		waiting := testenv.Must(a.Waiting(t.Context()))(t)
		if len(waiting.Messages) != 1 || waiting.Messages[0].Deliveries != want {
			t.Fatalf("after %d deliveries: %+v", want, waiting.Messages)
		}
		err := a.Receive(t.Context(), "a", func(r *azservicebus.Receiver, m *azservicebus.ReceivedMessage) error {
			if waiting, err := a.Waiting(t.Context()); err != nil || len(waiting.Messages) != 1 {
				t.Errorf("a locked message is not shown: %+v, %v", waiting.Messages, err)
			}
			return r.AbandonMessage(t.Context(), m, nil)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestASubscriptionIsReadUntilThereIsEnough(t *testing.T) {
	t.Parallel()
	a := start(t, nil)
	for i := range 350 {
		body := `{"file_size_mb":1}`
		if i < 130 { // however many cannot be used, those after them are seen
			body = "{}"
		}
		a.Send("a", fmt.Sprint("m", i), body)
	}
	waiting := testenv.Must(a.Waiting(t.Context()))(t)
	usable := 0
	for _, m := range waiting.Messages {
		if m.Size.Problem == "" {
			usable++
		}
	}
	if usable < 106 || len(waiting.Messages) >= 350 || !waiting.Subscriptions[0].Partial || waiting.Subscriptions[1].Partial {
		t.Errorf("%d messages, %d usable, %+v", len(waiting.Messages), usable, waiting.Subscriptions)
	}
}

func TestGroupsOfOthersAreIgnoredAndStatesComeFromEachGroup(t *testing.T) {
	t.Parallel()
	a := start(t, nil)
	other := start(t, map[string]string{"ACI_NAME_PREFIX": "other"})
	names := map[string]string{}
	for _, id := range []string{"run", "done", "died"} {
		g := a.Settings().GroupFor(scaler.Message{Subscription: "a", ID: id, Size: scaler.Size{MB: "50"}})
		if created, err := a.Create(t.Context(), g); err != nil || !created {
			t.Fatalf("%s: %t, %v", id, created, err)
		}
		names[id] = g.Name
	}
	foreign := other.Settings().GroupFor(scaler.Message{Subscription: "a", ID: "run"})
	if _, err := a.Create(t.Context(), foreign); err != nil {
		t.Fatal(err)
	}
	states := func() map[string]string {
		found := map[string]string{}
		for _, c := range testenv.Must(a.Groups(t.Context()))(t) {
			exit := "-"
			if c.ExitCode != nil {
				exit = fmt.Sprint(*c.ExitCode)
			}
			found[c.MessageID] = fmt.Sprintf("%s %t %s %s %s %s", c.State, c.Ended, exit, c.Subscription, c.SizeMB, c.Detail)
			if c.Name != names[c.MessageID] || c.Ended != (c.FinishedAt != nil) {
				t.Errorf("group %+v", c)
			}
		}
		return found
	}
	testenv.Eventually(t, "all groups run", func() bool {
		return maps.Equal(states(), map[string]string{"run": "Running false - a 50 ", "done": "Running false - a 50 ", "died": "Running false - a 50 "})
	})
	for id, code := range map[string]int{"done": 0, "died": 7} {
		if err := a.ARM.Exit(names[id], code); err != nil {
			t.Fatal(err)
		}
	}
	want := map[string]string{"run": "Running false - a 50 ", "done": "Succeeded true 0 a 50 ", "died": "Failed true 7 a 50 Error"}
	if got := states(); !maps.Equal(got, want) {
		t.Errorf("states %q, want %q", got, want)
	}
}

func TestARepeatedCreationChangesNothingAlsoAfterTheGroupHasEnded(t *testing.T) {
	t.Parallel()
	a := start(t, nil)
	g := a.Settings().GroupFor(scaler.Message{Subscription: "a", ID: "n1", Size: scaler.Size{MB: "50"}})
	for i := range 3 {
		if created, err := a.Create(t.Context(), g); err != nil || created != (i == 0) {
			t.Fatalf("creation %d: %t, %v", i, created, err)
		}
		if i == 1 {
			if err := a.ARM.Exit(g.Name, 0); err != nil {
				t.Fatal(err)
			}
		}
	}
	if n := a.ARM.Counters().Starts[g.Name]; n != 1 {
		t.Errorf("the container was started %d times", n)
	}
	for i := range 2 {
		if deleted, err := a.Delete(t.Context(), g.Name); err != nil || deleted != (i == 0) {
			t.Fatalf("deletion %d: %t, %v", i, deleted, err)
		}
		testenv.Eventually(t, "the group is gone", func() bool { return len(a.ARM.Groups()) == 0 })
	}
}

func TestAGroupIsDeletedOnceAndOnlyWhenItHasEnded(t *testing.T) {
	t.Parallel()
	a := start(t, nil)
	g := a.Settings().GroupFor(scaler.Message{Subscription: "a", ID: "n1", Size: scaler.Size{MB: "50"}})
	if _, err := a.Create(t.Context(), g); err != nil {
		t.Fatal(err)
	}
	a.Settled()
	if deleted, err := a.Delete(t.Context(), g.Name); deleted || err != nil || len(a.ARM.Groups()) != 1 {
		t.Errorf("a group that runs: %t, %v", deleted, err)
	}
	if err := a.ARM.Exit(g.Name, 0); err != nil {
		t.Fatal(err)
	}
	a.ARM.Fail(arm.Fault{Method: http.MethodDelete, Count: 1, Status: 409, Code: "ContainerGroupTransitioning", Message: "still transitioning"})
	if deleted, err := a.Delete(t.Context(), g.Name); deleted || err != nil {
		t.Errorf("a group that is being deleted: %t, %v", deleted, err)
	}
	a.ARM.Fail(arm.Fault{Method: http.MethodDelete, Count: 1, Status: 409, Code: "ScopeLocked", Message: "a lock"})
	if deleted, err := a.Delete(t.Context(), g.Name); deleted || err == nil {
		t.Errorf("a group that cannot be deleted: %t, %v", deleted, err)
	}
	if deleted, err := a.Delete(t.Context(), g.Name); !deleted || err != nil {
		t.Errorf("a group that has ended: %t, %v", deleted, err)
	}
}

func TestTheBodyOfAGroupIsTheSameInEveryTick(t *testing.T) {
	t.Parallel()
	const id = "/subscriptions/s/resourceGroups/g/providers/Microsoft.ManagedIdentity/userAssignedIdentities/pull"
	const subnet = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Network/virtualNetworks/v/subnets/aci"
	a := start(t, map[string]string{
		"ACR_SERVER": "registry.example", "ACI_IDENTITY_ID": id, "ACI_SUBNET_ID": subnet, "INSTANCE_MODE": "fast", "INSTANCE_API_KEY": "s3cret",
		"INSTANCE_SUBSCRIPTION_ENV_NAME": "SUBSCRIPTION", "ACI_DEFAULT_CPU": "1.5",
	})
	bodies := map[string]bool{}
	for range 5 {
		g := a.Settings().GroupFor(scaler.Message{Subscription: "a", ID: "n1", Size: scaler.Size{MB: "1536"}})
		if _, err := a.Create(t.Context(), g); err != nil {
			t.Fatal(err)
		}
		a.Settled()
		if err := a.ARM.Exit(g.Name, 0); err != nil {
			t.Fatal(err)
		}
		if _, err := a.Delete(t.Context(), g.Name); err != nil {
			t.Fatal(err)
		}
		testenv.Eventually(t, "the group is gone", func() bool { return len(a.ARM.Groups()) == 0 })
	}
	var sent string
	for _, r := range a.ARM.Requests() {
		if r.Method == http.MethodPut {
			bodies[r.Body], sent = true, r.Body
		}
	}
	const want = `{"identity":{"type":"UserAssigned","userAssignedIdentities":{"` + id + `":{}}},"location":"westeurope","properties":{"containers":[{"name":"main","properties":{` +
		`"environmentVariables":[{"name":"API_KEY","secureValue":"s3cret"},{"name":"MODE","secureValue":"fast"},{"name":"SUBSCRIPTION","value":"a"}],"image":"registry.example/validator:1",` +
		`"resources":{"requests":{"cpu":1.5,"memoryInGB":1.5}}}}],"imageRegistryCredentials":[{"identity":"` + id + `","server":"registry.example"}],"osType":"Linux","restartPolicy":"Never","sku":"Standard",` +
		`"subnetIds":[{"id":"` + subnet + `"}]},"tags":{"file_size_mb":"1536","managed_by":"validator","message_id":"n1","subscription":"a"}}`
	if len(bodies) != 1 || sent != want {
		t.Errorf("%d bodies: %s\nwant %s", len(bodies), sent, want)
	}
}

func TestTheRegistryTakesAUserAndAPassword(t *testing.T) {
	t.Parallel()
	a := start(t, map[string]string{"ACR_SERVER": "registry.example", "ACR_USERNAME": "pull", "ACR_PASSWORD": "s3cret"})
	if _, err := a.Create(t.Context(), a.Settings().GroupFor(scaler.Message{ID: "n1"})); err != nil {
		t.Fatal(err)
	}
	requests := a.ARM.Requests()
	var sent struct {
		Identity   any
		Properties struct{ ImageRegistryCredentials []map[string]string }
	}
	if err := json.Unmarshal([]byte(requests[len(requests)-1].Body), &sent); err != nil {
		t.Fatal(err)
	}
	if r := sent.Properties.ImageRegistryCredentials; sent.Identity != nil || len(r) != 1 || !maps.Equal(r[0], map[string]string{"server": "registry.example", "username": "pull", "password": "s3cret"}) {
		t.Errorf("sent %+v", sent)
	}
}

func TestErrorsOfCreationsSayWhatCanBeCreatedNow(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status int
		code   string
		is     []error
	}{
		{400, "ContainerGroupQuotaReached", []error{scaler.ErrExhausted}},
		{409, "ContainerGroupQuotaReached", []error{scaler.ErrExhausted}},
		{429, "TooManyRequests", []error{scaler.ErrExhausted}},
		{409, "ServiceUnavailable", []error{scaler.ErrRefused, scaler.ErrNoCapacity}},
		{409, "ContainerGroupTransitioning", []error{scaler.ErrRefused}},
		{403, "LinkedAuthorizationFailed", []error{scaler.ErrRefused}},
		{400, "InaccessibleImage", []error{scaler.ErrRefused}},
		{500, "InternalServerError", nil},
		{503, "ServiceUnavailable", nil},
	} {
		a := start(t, nil)
		a.ARM.Fail(arm.Fault{Method: http.MethodPut, Status: c.status, Code: c.code, Message: "the cause", RetryAfter: "10"})
		_, err := a.Create(t.Context(), a.Settings().GroupFor(scaler.Message{ID: "n1"}))
		for _, kind := range []error{scaler.ErrExhausted, scaler.ErrRefused, scaler.ErrNoCapacity} {
			if errors.Is(err, kind) != slices.Contains(c.is, kind) {
				t.Errorf("%d %s: %v is %v: %t", c.status, c.code, err, kind, errors.Is(err, kind))
			}
		}
		if err == nil || !strings.HasSuffix(err.Error(), fmt.Sprintf("%d %s: the cause", c.status, c.code)) {
			t.Errorf("%d %s: %v", c.status, c.code, err)
		}
		puts := 0
		for _, r := range a.ARM.Requests() {
			if r.Method == http.MethodPut {
				puts++
			}
		}
		if puts != 1 {
			t.Errorf("%d %s: sent %d times", c.status, c.code, puts)
		}
	}
}

func TestServicesThatAreAwayAreErrors(t *testing.T) {
	t.Parallel()
	a := start(t, map[string]string{"SB_TOPIC_NAME": "others"})
	if _, err := a.Waiting(t.Context()); err == nil || !strings.Contains(err.Error(), "subscriptions of the topic others: 404 NotFound") {
		t.Errorf("a topic that does not exist: %v", err)
	}
	a = start(t, nil)
	if err := a.Bus.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Waiting(t.Context()); err == nil || !strings.Contains(err.Error(), "peek at the subscription") {
		t.Errorf("without Service Bus: %v", err)
	}
	a.ARM.Fail(arm.Fault{Status: 403, Code: "AuthorizationFailed", Message: "no role"})
	if _, err := a.Groups(t.Context()); err == nil || err.Error() != "403 AuthorizationFailed: no role" {
		t.Errorf("without a role: %v", err)
	}
	if _, err := a.Delete(t.Context(), "one"); err == nil || err.Error() != "403 AuthorizationFailed: no role" {
		t.Errorf("a deletion without a role: %v", err)
	}
}
