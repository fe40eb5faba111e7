package scaler_test

import (
	"fmt"
	"maps"
	"math/rand"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/matoolkit/matoolkit/internal/scaler"
)

// message is a message of 512 MB without a delivery.
func message(subscription, id string, sequence int64) scaler.Message {
	return scaler.Message{Subscription: subscription, ID: id, Sequence: sequence, Size: scaler.Size{MB: "512"}}
}

func subscriptions(names ...string) (all []scaler.Subscription) {
	for _, name := range names {
		all = append(all, scaler.Subscription{Name: name, MaxDeliveries: 10, LockDuration: time.Minute})
	}
	return all
}

func limits(instances int) scaler.Limits { return scaler.Limits{MaxInstances: instances, PerTick: 5} }

func created(p scaler.Plan) (ids []string) {
	for _, m := range p.Create {
		ids = append(ids, m.Subscription+"/"+m.ID)
	}
	return ids
}

func verdicts(p scaler.Plan) (all []string) {
	for _, d := range p.Decisions {
		all = append(all, fmt.Sprintf("%s/%s %s", d.Subscription, d.ID, d.Verdict))
	}
	return all
}

func TestSubscriptionsAreServedInSortedOrderInTwoPasses(t *testing.T) {
	t.Parallel()
	waiting := scaler.Waiting{Subscriptions: subscriptions("b", "c", "a"), Messages: []scaler.Message{
		message("c", "c1", 1), message("b", "b2", 8), message("b", "b1", 3), message("a", "a3", 9), message("a", "a1", 2), message("a", "a2", 4),
	}}
	for instances, want := range map[int]string{
		0: "", 1: "a/a1", 2: "a/a1 b/b1", 3: "a/a1 b/b1 c/c1", 4: "a/a1 b/b1 c/c1 a/a2", 5: "a/a1 b/b1 c/c1 a/a2 a/a3", 6: "a/a1 b/b1 c/c1 a/a2 a/a3", 100: "a/a1 b/b1 c/c1 a/a2 a/a3",
	} {
		if got := strings.Join(created(scaler.NewPlan(nil, waiting, limits(instances))), " "); got != want {
			t.Errorf("capacity %d: created %q, want %q", instances, got, want)
		}
	}
	if got := verdicts(scaler.NewPlan(nil, waiting, limits(6))); !slices.Contains(got, "b/b2 waiting_for_next_tick") {
		t.Errorf("a message beyond the limit of a tick: %q", got)
	}
	if got := verdicts(scaler.NewPlan(nil, waiting, limits(4))); !slices.Contains(got, "a/a3 waiting_for_capacity") || !slices.Contains(got, "b/b2 waiting_for_capacity") {
		t.Errorf("messages beyond the capacity: %q", got)
	}
}

func TestCapacityIsTheLimitWithoutActiveGroupsAndEndedGroupsDoNotCount(t *testing.T) {
	t.Parallel()
	waiting := scaler.Waiting{Subscriptions: subscriptions("a"), Messages: []scaler.Message{message("a", "new1", 1), message("a", "new2", 2)}}
	inventory := scaler.Inventory{
		{Name: "g1", MessageID: "x1"}, {Name: "g2", MessageID: "x2"}, {Name: "g3", MessageID: "x3", Ended: true}, {Name: "g4", MessageID: "x4", Ended: true},
	}
	for instances, want := range map[int]int{0: 0, 1: 0, 2: 0, 3: 1, 4: 2, 9: 2} {
		p := scaler.NewPlan(inventory, waiting, limits(instances))
		if len(p.Create) != want || p.Active != 2 || !slices.Equal(p.Delete, []string{"g3", "g4"}) {
			t.Errorf("limit %d: %d created, %d active, deleted %q", instances, len(p.Create), p.Active, p.Delete)
		}
	}
}

func TestDuplicatesGetNoSecondGroup(t *testing.T) {
	t.Parallel()
	waiting := scaler.Waiting{Subscriptions: subscriptions("a", "b"), Messages: []scaler.Message{
		message("a", "active", 1), message("a", "ended", 2), message("a", "both", 3), message("a", "same", 4), message("a", "same", 5), message("b", "same", 1), message("b", "other", 2),
	}}
	inventory := scaler.Inventory{
		{Name: "g1", MessageID: "active"},
		{Name: "g2", MessageID: "ended", Ended: true},
		{Name: "g3", MessageID: "both", Ended: true},
		{Name: "g4", MessageID: "both"},
		{Name: "g5", MessageID: "both", Ended: true},
	}
	want := []string{
		"a/active has_container", "a/ended container_ended", "a/both has_container", "a/same create", "a/same duplicate",
		"b/same duplicate", "b/other create",
	}
	if got := verdicts(scaler.NewPlan(inventory, waiting, limits(10))); !slices.Equal(got, want) {
		t.Errorf("verdicts %q\nwant     %q", got, want)
	}
}

func TestMessagesAtTheDeliveryLimitOfTheirSubscriptionAreSkipped(t *testing.T) {
	t.Parallel()
	delivered := func(subscription, id string, n int) scaler.Message {
		m := message(subscription, id, int64(n))
		m.Deliveries = n
		return m
	}
	waiting := scaler.Waiting{
		Subscriptions: []scaler.Subscription{{Name: "few", MaxDeliveries: 1}, {Name: "many", MaxDeliveries: 10}},
		Messages: []scaler.Message{
			delivered("few", "f0", 0), delivered("few", "f1", 1), delivered("few", "shared", 2),
			delivered("many", "m1", 1), delivered("many", "m9", 9), delivered("many", "m10", 10), delivered("many", "m11", 11), delivered("many", "shared", 2),
		},
	}
	want := []string{
		"few/f0 create", "few/f1 delivery_limit", "few/shared delivery_limit", "many/m1 create", "many/shared create", "many/m9 create", "many/m10 delivery_limit", "many/m11 delivery_limit",
	}
	if got := verdicts(scaler.NewPlan(nil, waiting, limits(10))); !slices.Equal(got, want) {
		t.Errorf("verdicts %q\nwant     %q", got, want)
	}
}

func TestMessagesThatCannotBeSizedAreSkippedWithTheirReason(t *testing.T) {
	t.Parallel()
	var messages []scaler.Message
	for i, body := range []string{"nonsense", `{}`, `{"file_size_mb":"5"}`, `{"file_size_mb":5}`} {
		messages = append(messages, scaler.Message{Subscription: "a", ID: fmt.Sprint("m", i), Sequence: int64(i), Size: scaler.ReadSize([]byte(body))})
	}
	messages = append(messages, scaler.Message{Subscription: "a", Sequence: 9, Size: scaler.Size{MB: "5"}})
	p := scaler.NewPlan(nil, scaler.Waiting{Subscriptions: subscriptions("a"), Messages: messages}, limits(10))
	want := []string{"a/m0 body_not_json", "a/m1 size_missing", "a/m2 size_invalid", "a/m3 create", "a/ message_id_missing"}
	if got := verdicts(p); !slices.Equal(got, want) {
		t.Errorf("verdicts %q, want %q", got, want)
	}
	if n := p.Count(); n[scaler.Create] != 1 || n[scaler.BodyNotJSON] != 1 || len(n) != 5 {
		t.Errorf("counts %v", n)
	}
}

func TestEachTickDeletesTheFirstEndedGroups(t *testing.T) {
	t.Parallel()
	var inventory scaler.Inventory
	for i := range 8 {
		inventory = append(inventory, scaler.Container{Name: fmt.Sprintf("g%d", 7-i), MessageID: fmt.Sprint(i), Ended: i != 7})
	}
	if p := scaler.NewPlan(inventory, scaler.Waiting{}, limits(1)); !slices.Equal(p.Delete, []string{"g1", "g2", "g3", "g4", "g5"}) {
		t.Errorf("deleted %q", p.Delete)
	}
}

func TestTicksStayUnderTheHourlyLimitsOfTheService(t *testing.T) {
	t.Parallel()
	const ticks, perHour, per5Minutes = 60, 300, 100 // creations, and deletions
	if scaler.PerTick*ticks > perHour || scaler.PerTick*5 > per5Minutes {
		t.Errorf("%d a tick", scaler.PerTick)
	}
}

func TestAGroupHasEndedByItsOwnStateAndNotByItsProvisioning(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		provisioning, instance string
		ended                  bool
	}{
		{"Pending", "", false},
		{"Creating", "Pending", false},
		{"Succeeded", "Running", false},
		{"Succeeded", "Pending", false},
		{"Succeeded", "", false},
		{"Succeeded", "Succeeded", true},
		{"Succeeded", "Failed", true},
		{"Succeeded", "Stopped", true},
		{"Failed", "", true},
		{"Failed", "Pending", true},
		{"Failed", "Running", false},
		{"Unhealthy", "Running", false},
		{"Repairing", "", false},
		{"Unknown", "Unknown", false},
	} {
		if got := scaler.HasEnded(c.provisioning, c.instance); got != c.ended {
			t.Errorf("provisioning %q, instance %q: ended %t", c.provisioning, c.instance, got)
		}
	}
}

// scene draws groups and messages. Ids are few, so that they meet.
func scene(t *rapid.T) (scaler.Inventory, scaler.Waiting, scaler.Limits) {
	id := rapid.SampledFrom([]string{"", "m1", "m2", "m3", "m4", "m5", "m6", "m7", "m8"})
	names := []string{"s1", "s2", "s3"}
	waiting := scaler.Waiting{}
	for _, name := range names {
		waiting.Subscriptions = append(waiting.Subscriptions, scaler.Subscription{Name: name, MaxDeliveries: rapid.IntRange(1, 3).Draw(t, "maxDeliveries")})
	}
	for range rapid.IntRange(0, 14).Draw(t, "messages") {
		m := scaler.Message{
			Subscription: rapid.SampledFrom(names).Draw(t, "subscription"), ID: id.Draw(t, "id"),
			Sequence: int64(len(waiting.Messages)), Deliveries: rapid.IntRange(0, 3).Draw(t, "deliveries"), Size: scaler.Size{MB: "10"},
		}
		if rapid.IntRange(0, 5).Draw(t, "bad") == 0 {
			m.Size = scaler.Size{Problem: scaler.SizeMissing}
		}
		waiting.Messages = append(waiting.Messages, m)
	}
	var inventory scaler.Inventory
	for i := range rapid.IntRange(0, 8).Draw(t, "groups") {
		inventory = append(inventory, scaler.Container{Name: fmt.Sprint("g", i), MessageID: id.Draw(t, "groupID"), Ended: rapid.Bool().Draw(t, "ended")})
	}
	return inventory, waiting, scaler.Limits{MaxInstances: rapid.IntRange(0, 6).Draw(t, "max"), PerTick: rapid.IntRange(1, 6).Draw(t, "perTick")}
}

func TestEveryPlanStaysWithinItsLimitsWithOneGroupForAMessageAndOneVerdict(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		inventory, waiting, limits := scene(t)
		p := scaler.NewPlan(inventory, waiting, limits)
		active, taken := 0, map[string]bool{}
		for _, c := range inventory {
			if !c.Ended {
				active++
			}
			taken[c.MessageID] = true
		}
		if len(p.Create) > 0 && active+len(p.Create) > limits.MaxInstances || len(p.Create) > limits.PerTick || len(p.Delete) > limits.PerTick {
			t.Fatalf("%d created and %d deleted, with %d active and limits %+v", len(p.Create), len(p.Delete), active, limits)
		}
		for _, m := range p.Create {
			if taken[m.ID] {
				t.Fatalf("a second group for %q", m.ID)
			}
			taken[m.ID] = true
		}
		if len(p.Decisions) != len(waiting.Messages) {
			t.Fatalf("%d verdicts on %d messages", len(p.Decisions), len(waiting.Messages))
		}
		n := 0
		for _, d := range p.Decisions {
			if !slices.Contains(scaler.Verdicts, d.Verdict) {
				t.Fatalf("verdict %q", d.Verdict)
			}
			if d.Verdict == scaler.Create {
				n++
			}
		}
		free := min(max(limits.MaxInstances-active, 0), limits.PerTick)
		if counts := p.Count(); n != len(p.Create) || (counts[scaler.NoCapacity]+counts[scaler.NextTick] > 0) && n < free {
			t.Fatalf("%d created although there is room for %d: %v", n, free, counts)
		}
	})
}

// TestTheCountsOfATickAddUp draws what comes of some of a plan's creations, and of those in their place.
func TestTheCountsOfATickAddUp(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := scaler.NewPlan(scene(t))
		tried, created := map[string]scaler.Verdict{}, 0
		for _, m := range slices.Concat(p.Create, p.Next) {
			switch rapid.IntRange(0, 3).Draw(t, "outcome") {
			case 0:
				tried[m.ID] = scaler.Create
				created++
			case 1:
				tried[m.ID] = scaler.CreateFailed
			case 2:
				tried[m.ID] = scaler.HasContainer
			}
		}
		counts, sum := p.CountCarriedOut(tried), 0
		for _, n := range counts {
			sum += n
		}
		before := p.Count()
		if sum != len(p.Decisions) || counts[scaler.Create] != created || counts[scaler.Duplicate] != before[scaler.Duplicate] {
			t.Fatalf("%d created of %d messages: %v, planned %v", created, len(p.Decisions), counts, before)
		}
	})
}

func TestAPlanDoesNotDependOnTheOrderOfItsInput(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		inventory, waiting, limits := scene(t)
		p := scaler.NewPlan(inventory, waiting, limits)
		shuffle := rand.New(rand.NewSource(rapid.Int64().Draw(t, "seed")))
		others, mixed := slices.Clone(inventory), scaler.Waiting{Subscriptions: slices.Clone(waiting.Subscriptions), Messages: slices.Clone(waiting.Messages)}
		shuffle.Shuffle(len(others), func(i, j int) { others[i], others[j] = others[j], others[i] })
		shuffle.Shuffle(len(mixed.Subscriptions), func(i, j int) {
			mixed.Subscriptions[i], mixed.Subscriptions[j] = mixed.Subscriptions[j], mixed.Subscriptions[i]
		})
		shuffle.Shuffle(len(mixed.Messages), func(i, j int) { mixed.Messages[i], mixed.Messages[j] = mixed.Messages[j], mixed.Messages[i] })
		if q := scaler.NewPlan(others, mixed, limits); !reflect.DeepEqual(p, q) {
			t.Fatalf("%+v\nin another order: %+v", p, q)
		}
	})
}

func TestEveryVerdictOccurs(t *testing.T) {
	t.Parallel()
	seen := map[scaler.Verdict]bool{scaler.BodyNotJSON: true, scaler.SizeInvalid: true, scaler.CreateFailed: true} // of ReadSize and of ticks
	random := rapid.Custom(func(t *rapid.T) scaler.Plan { return scaler.NewPlan(scene(t)) })
	for seed := range 300 {
		p := random.Example(seed)
		for _, d := range p.Decisions {
			seen[d.Verdict] = true
		}
	}
	if got, want := slices.Sorted(maps.Keys(seen)), slices.Sorted(slices.Values(scaler.Verdicts)); !slices.Equal(got, want) {
		t.Errorf("verdicts %q, want %q", got, want)
	}
}
