package app_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/app"
	"github.com/matoolkit/matoolkit/internal/scalertest"
	"github.com/matoolkit/matoolkit/local/receiver"
)

// scaling gives the processes of a stage, which posts to a receiver, the container scaler of a local Azure.
func scaling(t *testing.T, s *stage) (*scalertest.Azure, *receiver.Receiver) {
	t.Helper()
	r := posting(t, s)
	azure := scalertest.Start(t, scalertest.Config{Now: s.clock.Now})
	c := s.config()
	c.Poster, c.Containers = posterTo(r), azure
	s.app, s.other = app.New(c), app.New(c)
	return azure, r
}

// scaleAfter lets time pass, and has the container scaler tick.
func (s *stage) scaleAfter(azure *scalertest.Azure, d time.Duration) {
	s.t.Helper()
	s.pass(d)
	noError(s.t, s.app.ScaleContainers(s.ctx))
	azure.Settled()
}

// lose has the container of a message end before it receives the message. The lock that it may have held ends within a minute.
func (s *stage) lose(azure *scalertest.Azure, subscription, id string) {
	s.t.Helper()
	s.scaleAfter(azure, time.Minute) // creates it
	azure.Exit(subscription, id, 1)
	s.scaleAfter(azure, time.Minute) // deletes its group
}

func TestLostContainersAreAnnouncedOnceADayForEachSubscription(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	azure, r := scaling(t, s)
	s.notify("containers", api.NotificationRequest{LinkURL: "https://console.example.com"}, api.EventContainersLost)
	s.notify("gates", api.NotificationRequest{}, api.EventGateWaiting)
	azure.SendSize("a", "m1", 1)
	azure.SendSize("b", "m2", 1)
	s.scaleAfter(azure, time.Minute)
	s.tick()
	wantPosts(t, r, "")
	s.lose(azure, "a", "m1")
	s.tick()
	wantPosts(t, r, "containers_lost")
	var body struct {
		Data struct{ Subject, Text, Link string }
	}
	noError(t, json.Unmarshal(r.Posts()[0].Body, &body))
	if d := body.Data; d.Subject != "a: containers ended before they received their messages" || d.Link != "https://console.example.com/containers" ||
		d.Text != "Since 2026-03-01 09:03 UTC, 1 container of the subscription a ended before receiving a message. Show the messages with matoolkit scaler status." {
		t.Errorf("%+v", d)
	}

	for range 2 { // one a day, however many containers it takes
		s.lose(azure, "a", "m1")
		s.tick()
	}
	wantPosts(t, r, "containers_lost")
	s.lose(azure, "b", "m2")
	s.tick()
	wantPosts(t, r, "containers_lost containers_lost")
	s.pass(24 * time.Hour)
	s.lose(azure, "a", "m1")
	s.tick()
	wantPosts(t, r, "containers_lost containers_lost containers_lost")
}

// The message is received by the next container before the scheduler looks.
func TestALossIsAnnouncedAlsoIfTheMessageWasReceivedSince(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	azure, r := scaling(t, s)
	s.notify("before", api.NotificationRequest{}, api.EventContainersLost)
	azure.SendSize("a", "m1", 1)
	s.lose(azure, "a", "m1")
	s.pass(time.Second)
	s.notify("after", api.NotificationRequest{}, api.EventContainersLost)
	noError(t, azure.Complete(s.ctx, "a"))
	s.scaleAfter(azure, time.Minute)
	if status := must(s.app.ScalerStatus(s.ctx))(t); len(status.LostContainers) != 0 {
		t.Fatalf("%+v", status.LostContainers)
	}
	s.tick()
	s.tickAfter(4 * 24 * time.Hour)
	wantPosts(t, r, "containers_lost")
	if got := s.deliveries("before") + s.deliveries("after"); got != "containers_lost/sent/1" {
		t.Error(got)
	}
}

// A process that dies at any operation of the store, in a tick of the container scaler or of the scheduler, leaves a loss
// counted once and announced once, or announced twice under one id.
func TestALossIsCountedAndAnnouncedOnceWhereverAProcessDies(t *testing.T) {
	t.Parallel()
	for _, partition := range []string{"scaler", "notifications"} {
		for _, after := range []bool{false, true} {
			for n := 1; ; n++ {
				s := newStage(t, false)
				azure, r := scaling(t, s)
				s.notify("containers", api.NotificationRequest{}, api.EventContainersLost)
				azure.SendSize("a", "m1", 1)
				s.scaleAfter(azure, time.Minute)
				azure.Exit("a", "m1", 1)
				s.scaleAfter(azure, time.Second) // the lock that it may have held is not over
				s.pass(2 * time.Minute)
				dying, die := context.WithCancel(s.ctx)
				end, reached := s.dieAt(partition, n, after, die)
				_ = s.app.ScaleContainers(dying) // counts the loss
				_ = s.app.Tick(dying)            // announces it
				die()
				end()
				azure.Settled()
				s.app = s.other
				for range 3 {
					s.scaleAfter(azure, time.Minute)
					s.tickAfter(6 * time.Minute)
				}
				at := fmt.Sprintf("killed at operation %d of %s, carried out %t", n, partition, after)
				if status := must(s.app.ScalerStatus(s.ctx))(t); len(status.LostContainers) != 1 || status.LostContainers[0].Count != 1 {
					t.Errorf("%s: %+v", at, status.LostContainers)
				}
				ids := map[string]bool{}
				for _, p := range r.Posts() {
					ids[p.ID] = true
				}
				if len(ids) != 1 || len(r.Posts()) > 2 || !strings.HasPrefix(s.deliveries("containers"), "containers_lost/sent/") {
					t.Errorf("%s: %d posts of %d deliveries: %s", at, len(r.Posts()), len(ids), s.deliveries("containers"))
				}
				if !reached() {
					break
				}
				if n > 50 {
					t.Fatal("no end")
				}
			}
		}
	}
}

func TestTheSummaryHasSubscriptionsWhoseContainersAreLost(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	azure, _ := scaling(t, s)
	azure.SendSize("a", "m1", 1)
	s.lose(azure, "a", "m1")
	want := []api.Attention{{
		Event: api.EventContainersLost, Subject: "a: containers end before they receive their messages", Count: 1,
		Text: "The containers of 1 message of the subscription a ended before receiving. Check the image and the settings of the containers.",
	}}
	if got := must(s.app.Summary(s.ctx))(t).Attention; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%+v", got)
	}
	noError(t, azure.Complete(s.ctx, "a"))
	s.scaleAfter(azure, time.Minute)
	if got := must(s.app.Summary(s.ctx))(t).Attention; len(got) != 0 {
		t.Errorf("after the message was received: %+v", got)
	}
}
