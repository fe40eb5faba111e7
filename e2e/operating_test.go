package e2e_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/cli/exit"
	"github.com/matoolkit/matoolkit/internal/message"
)

// The runbook of docs/operating.md. Its steps do nothing, or fail where a member's Answer
// is "failure".
const moves = `name: moves
description: %s
data_source:
  type: csv
  connection: PEOPLE
  primary_key: Mail
  batch_time_column: CutoverTime
init:
  - {name: begin, worker_id: worker-01, function: No-Op}
phases:
  - name: move
    offset: T-5d
    steps:
      - {name: move-mailbox, worker_id: worker-01, function: No-Op, params: {Answer: "{{Answer}}"}}
  - name: cutover
    offset: T-0
    approval: required
    steps:
      - {name: switch, worker_id: worker-01, function: No-Op, params: {Value: "{{Mail}}"}}
on_member_removed:
  - {name: tell, worker_id: worker-01, function: No-Op}
`

// operating is what has to be there before the blocks of docs/operating.md, each of which
// speaks of a batch 42 in another situation.
var operating = map[string]func(*runner){
	"matoolkit batch audit 42": func(r *runner) { r.batch(3) },
	"matoolkit batch create moves members.csv": func(r *runner) {
		r.file("members.csv", r.people(r.next(), 3))
		r.names = []string{"42", strconv.Itoa(r.next())}
	},
	"matoolkit batch get 42": func(r *runner) {
		id := r.batch(7, 3)
		r.advance(id, 1)
		r.must("batch", "approve", id, "cutover")
		r.advance(id, 1)
	},
	"matoolkit batch pause 42 --reason the tenant is throttling":          func(r *runner) { r.batch(3) },
	"matoolkit batch phases 42":                                           func(r *runner) { r.advance(r.batch(3), 1) },
	"matoolkit batch retry 42":                                            (*runner).fails,
	"matoolkit batch add-members 42 latecomers.csv":                       func(r *runner) { r.batch(7); r.file("latecomers.csv", r.people(99, 2)) },
	"matoolkit runbook diff moves moves.yaml":                             func(r *runner) { r.file("moves.yaml", fmt.Sprintf(moves, "Moves people, once more.")) },
	"matoolkit runbook versions moves":                                    (*runner).retires,
	"matoolkit query preview moves":                                       func(r *runner) { r.follows(10) },
	"matoolkit batch removals 42":                                         func(r *runner) { r.follows(10, 5) },
	"matoolkit batch discard-removals 42 --reason the export was cut off": func(r *runner) { r.follows(4, 1) },
	"matoolkit messages list":                                             (*runner).strange,
}

// operates starts the system and signs in.
func (r *runner) operates() {
	r.system(filepath.Join(example, "tenant.json"), environment{
		handler: map[string]string{"PEOPLE": filepath.Join(r.home, "people.csv")},
		worker:  map[string]string{"WORKER_NOOP": "1"},
	})
	r.file("moves.yaml", fmt.Sprintf(moves, "Moves people."))
	r.script("the page begins", "matoolkit auth login && matoolkit runbook publish moves.yaml")
}

func (r *runner) file(name, text string) {
	r.t.Helper()
	if err := os.WriteFile(filepath.Join(r.home, name), []byte(text), 0o600); err != nil {
		r.t.Fatal(err)
	}
}

// people is a list of n people of a batch, of whom those with these numbers fail.
func (r *runner) people(batch, n int, failing ...int) string {
	var list strings.Builder
	list.WriteString("Mail,CutoverTime,Answer\n")
	for i := 1; i <= n; i++ {
		answer := "good"
		for _, f := range failing {
			if f == i {
				answer = "failure"
			}
		}
		fmt.Fprintf(&list, "b%d.p%d@contoso.com,2035-03-03T18:00:00Z,%s\n", batch, i, answer)
	}
	return list.String()
}

// next is the number that the next batch has.
func (r *runner) next() int {
	r.t.Helper()
	var all api.Page[api.Batch]
	r.ask(&all, "batch", "list", "--all")
	last := 0
	for _, b := range all.Items {
		last = max(last, b.ID)
	}
	return last + 1
}

// batch makes a batch of n members, and runs its init: the page's number 42.
func (r *runner) batch(n int, failing ...int) string {
	r.t.Helper()
	r.file("people-of-batch.csv", r.people(r.next(), n, failing...))
	var b api.Batch
	r.ask(&b, "batch", "create", "moves", filepath.Join(r.home, "people-of-batch.csv"))
	id := strconv.Itoa(b.ID)
	r.names = []string{"42", id}
	r.advance(id, 1)
	return id
}

// advance goes on for so many phases, to their ends.
func (r *runner) advance(id string, phases int) {
	r.t.Helper()
	for range phases {
		// A status of 1 tells of members who failed.
		if _, status, err := r.give("batch", "advance", id, "--yes", "--wait"); status != exit.OK && status != exit.Failed {
			r.t.Fatal(err)
		}
	}
}

// fails makes a batch two of whose members fail, and again when they are retried.
func (r *runner) fails() {
	r.t.Helper()
	id := r.batch(8, 7, 8)
	r.advance(id, 1)
	jobs := map[int]string{}
	again := func() {
		r.until("members 7 and 8 have failed, again", func() (bool, any) {
			var steps api.Page[api.Step]
			r.ask(&steps, "batch", "steps", id, "--status", "failed")
			var members api.Page[api.Member]
			r.ask(&members, "batch", "members", id, "--status", "failed")
			now := map[int]string{}
			for _, s := range steps.Items {
				if s.JobID != jobs[s.MemberID] {
					now[s.MemberID] = s.JobID
					r.names = append(r.names, map[int]string{7: "20000007001", 8: "20000008001"}[s.MemberID], strconv.FormatInt(s.ID, 10))
				}
			}
			if len(now) < 2 || len(members.Items) < 2 {
				return false, steps.Items
			}
			jobs = now
			return true, nil
		})
	}
	again()
	r.names = append(r.names, "timed out", "asked for a failure")
	r.file("result.json", `{"Id": "7"}`)
	r.settle = func(line string) {
		if strings.Contains(line, "batch retry") {
			again()
		}
	}
}

// retires has the page take the active version out of use.
func (r *runner) retires() {
	r.t.Helper()
	r.settle = nil
	var v api.Runbook
	r.ask(&v, "runbook", "get", "moves")
	r.names = []string{"moves 3", "moves " + strconv.Itoa(v.Version)}
}

// follows has a batch made of the first n people in the list and, where less is given, all
// but so many leave it again: the page's number 42, whose removals are held then.
func (r *runner) follows(n int, less ...int) {
	r.t.Helper()
	r.settle = nil
	r.must("runbook", "publish", filepath.Join(r.home, "moves.yaml"), "--yes")
	r.file("people.csv", r.people(0, n))
	if len(less) == 0 {
		return
	}
	r.must("automation", "enable", "moves")
	r.until("no removal is under way", func() (bool, any) { b, ok := r.automated(); return !ok || b.Held == nil, b })
	r.tick()
	r.until("the batch is filled, and its init is over", func() (bool, any) { b, ok := r.automated(); return ok && b.Status == "active", b })
	r.file("people.csv", r.people(0, less[0]))
	r.tick()
	b, _ := r.automated()
	if b.Held == nil {
		r.t.Fatalf("no removals are held: %+v", b)
	}
	r.names = []string{"42", strconv.Itoa(b.ID)}
}

// automated is the batch that automation has made.
func (r *runner) automated() (batch api.Batch, ok bool) {
	r.t.Helper()
	var all api.Page[api.Batch]
	r.ask(&all, "batch", "list", "--all")
	for _, b := range all.Items {
		if !b.IsManual {
			return b, true
		}
	}
	return api.Batch{}, false
}

// strange has the handler get two messages that it can do nothing with.
func (r *runner) strange() {
	r.t.Helper()
	client, err := azservicebus.NewClientFromConnectionString(r.endpoints.Worker["ServiceBusConnection"], nil)
	if err != nil {
		r.t.Fatal(err)
	}
	defer client.Close(r.t.Context())
	sender, err := client.NewSender(message.TopicWorkerResults, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	for i := range 2 {
		body, err := json.Marshal(message.Result{JobID: "strange", Status: "Success", CorrelationData: message.Correlation{BatchID: 100_000 + i, StepExecutionID: 1}})
		if err != nil {
			r.t.Fatal(err)
		}
		if err := sender.SendMessage(r.t.Context(), &azservicebus.Message{Body: body, MessageID: new(fmt.Sprintf("strange-%d", i))}, nil); err != nil {
			r.t.Fatal(err)
		}
	}
	r.until("two messages are kept", func() (bool, any) {
		var kept api.Page[api.UnprocessedMessage]
		r.ask(&kept, "messages", "list")
		if len(kept.Items) < 2 {
			return false, kept.Items
		}
		r.names = []string{"0b1d5c0e3f6a4c0d9e2b7a8f1c3d5e7f", kept.Items[0].ID}
		return true, nil
	})
}
