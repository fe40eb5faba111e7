package app_test

import (
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/message"
)

// Repeated requests and messages have no second effect, not even when the broker has
// forgotten the ids of the first messages.

// given is how often a worker was given a job of a function for a member. One that
// came twice counts twice.
func (s *stage) given(member int, function string) int {
	n := 0
	for _, j := range s.jobs {
		if who(j) == member && j.FunctionName == function {
			n++
		}
	}
	return n
}

func (s *stage) wantGiven(member int, function string, want int) {
	s.t.Helper()
	if got := s.given(member, function); got != want {
		s.t.Fatalf("the worker was given %s for member %d %d times, want %d", function, member, got, want)
	}
}

// comesAgain lets all messages of a type come once more.
func (s *stage) comesAgain(kind string) {
	s.t.Helper()
	n := 0
	for _, p := range s.past[:len(s.past):len(s.past)] {
		if p.m.Type == kind {
			s.give(p)
			n++
		}
	}
	if n == 0 {
		s.t.Fatalf("no message of type %s has come", kind)
	}
	s.deliverAll()
}

func TestFirstPagesJobsAreNotSentAgainWhileTheFanOutContinues(t *testing.T) {
	t.Parallel()
	for name, takenUp := range map[string]func(s *stage, id int){
		"by ticks": func(s *stage, _ int) {
			for range 3 {
				s.tickAfter(5*time.Minute + time.Second)
			}
			s.unpark()
		},
		"by a resumption": func(s *stage, id int) {
			s.pause(id)
			s.unpark()
			s.pass(11 * time.Minute)
			s.resume(id)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, false)
			s.script = script{"New": fails(errLost)}
			s.park = ofType(message.TypePhaseDue, `"Page":2`)
			b := s.pages(twoSteps, 2)
			s.advance(b.ID)
			s.wantGiven(1, "New", 1)
			s.wantGiven(2, "New", 0)
			takenUp(s, b.ID)
			s.wantGiven(1, "New", 1)
			s.wantGiven(2, "New", 1)
			s.answers(1, "New", "true", nil)
			s.answers(2, "New", "true", nil)
			s.wantPhases(b.ID, "first completed 2/0/0, second pending 0/0/0")
			s.verify()
		})
	}
}

func TestOnCompleteJobIsNotSentAgainByTicksWhileItIsUnderWay(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	s.script = script{"Report": fails(errLost)}
	b := s.startBatch(reporting, people(2))
	for range 5 {
		s.tickAfter(5*time.Minute + time.Second)
	}
	s.wantGiven(0, "Report", 1)
	s.answers(0, "Report", `{"id":"r"}`, nil)
	s.wantGiven(0, "Tell", 1)
	s.wantPhases(b.ID, "move completed 2/0/0, verify pending 0/0/0")
	s.verify()
}

// It was retried since, at another request, and has failed again.
func TestRequestToRetryInitThatComesAgainDoesNotRetryIt(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	s.script = script{"Prepare": fails(errNo)}
	b := s.startBatch(strings.Replace(mover, "max_retries: 1, interval: 1s", "max_retries: 0", 1), people(2))
	for range 2 {
		s.retry(b.ID, api.Selection{})
	}
	s.wantGiven(0, "Prepare", 3)
	s.comesAgain(message.TypeBatchWork)
	s.wantGiven(0, "Prepare", 3)
	s.wantStatus(b.ID, "failed")
	s.verify()
}
