package simulation

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/message"
)

// grouping is how the worker puts results into groups. The seed draws their boundaries.
type grouping struct {
	rng   *rand.Rand
	odds  float64 // how likely a result waits for others
	ready []bus.Message
	known map[string]bool // ids of the results that were sent
	odd   map[string]int  // by message id: entries that cannot be read, and how often they are kept
}

func newGrouping(p *plan) *grouping {
	g := &grouping{rng: p.rng("groups"), known: map[string]bool{}, odd: map[string]int{}}
	if g.rng.IntN(3) > 0 {
		g.odds = .3 + .7*g.rng.Float64()
	}
	return g
}

// send sends a result: at once, or in a group with those that come until the next flush. It
// returns false where the broker drops the result.
func (k *worker) send(m bus.Message) bool {
	g := k.groups
	m.Properties = map[string]any{"traceparent": traceOf(m.ID)}
	if !m.At.IsZero() || g.odds == 0 || g.rng.Float64() >= g.odds {
		g.known[m.ID] = true
		return k.w.broker.take(message.TopicWorkerResults, m, k.w.now())
	}
	g.ready = append(g.ready, m)
	return true
}

// flush sends the results that are ready, in groups. It returns false if there is none.
func (k *worker) flush() bool {
	g := k.groups
	if len(g.ready) == 0 {
		return false
	}
	for len(g.ready) > 0 {
		n := len(g.ready)
		if g.rng.IntN(3) == 0 {
			n = 1 + g.rng.IntN(n)
		}
		k.sendGroup(g.ready[:n])
		g.ready = slices.Delete(g.ready, 0, n)
	}
	return true
}

// sendGroup sends one group. A result without company mostly travels alone, as the worker of the
// product sends it, unless the broker would drop it.
func (k *worker) sendGroup(results []bus.Message) {
	g := k.groups
	repeats := slices.ContainsFunc(results, func(m bus.Message) bool { return g.known[m.ID] })
	k.w.repeated = k.w.repeated || repeats
	for _, m := range results {
		g.known[m.ID] = true
	}
	if len(results) == 1 && !repeats && g.rng.IntN(4) > 0 {
		k.w.broker.take(message.TopicWorkerResults, results[0], k.w.now())
		return
	}
	var b message.ResultsBuilder
	for _, m := range results {
		if fits, err := b.Add(message.GroupedResult{MessageID: m.ID, Body: m.Body, Properties: map[string]string{"traceparent": m.Properties["traceparent"].(string)}}); !fits {
			k.w.problem("the results do not fit into a group: %v", err)
		}
	}
	id, body := b.Message()
	id += fmt.Sprintf("-%d", k.w.broker.accepted) // a group that is sent again, as another replica does
	if k.w.chance(.1) {
		k.w.trace("    an entry of group %s cannot be read", id)
		body = append(body[:len(body)-len("]}")], `,{"MessageId":7}]}`...)
		g.odd[fmt.Sprintf("%s-%d", id, len(results)+1)] = 0
	}
	k.w.broker.take(message.TopicWorkerResults, bus.Message{ID: id, Body: body, Properties: map[string]any{message.PropertyMessageType: message.TypeWorkerResults}}, k.w.now())
}

// traceOf returns the trace of a result, which tells the parts of a task apart that process the
// results of one group.
func traceOf(id string) string {
	digest := sha256.Sum256([]byte(id))
	text := hex.EncodeToString(digest[:])
	return "00-" + text[:32] + "-" + text[32:48] + "-01"
}

// families names the messages on which the app counts attempts when a message is delivered: of a
// group, also those of its results.
func (m *held) families() []string {
	first, _, _ := strings.Cut(m.id, message.RequeueMark)
	families := []string{m.topic + "/" + first}
	if m.properties[message.PropertyMessageType] != message.TypeWorkerResults {
		return families
	}
	var group struct {
		Results []struct{ MessageID json.RawMessage }
	}
	if err := json.Unmarshal(m.body, &group); err != nil {
		panic(err) // the worker here sends JSON
	}
	for _, r := range group.Results {
		families = append(families, m.topic+"/"+strings.Trim(string(r.MessageID), `"`))
	}
	return families
}
