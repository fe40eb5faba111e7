package app_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/store"
)

// Each version has a folder in testdata/state with a system in the middle of things, as
// the store and the broker of that version had it. Later versions take it over and bring
// it to its end. The folders of released versions never change.
//
// currentState is the folder of the version in development. The first change after a
// release sets it to the next version's name and writes the folder with
//
//	go test ./internal/app -run TestState -update
const (
	states       = "testdata/state"
	currentState = "0.1"
)

var update = flag.Bool("update", false, "write the state of this version into "+states+"/"+currentState)

// kept is a state as it is kept in a folder: documents.jsonl, messages.jsonl, people.csv
// and the two files of JSON below.
type kept struct {
	Documents []document
	Messages  []letter
	People    string
	System    system
	End       map[int]ending // by batch
}

// system holds the rest of the state.
type system struct {
	At     time.Time  `json:"at"`
	Repeat []repeated `json:"repeat"`
}

// document is an item of the store, without what the store adds to it.
type document struct {
	PK   string          `json:"pk"`
	ID   string          `json:"id"`
	Type string          `json:"type"`
	Doc  json.RawMessage `json:"doc"`
}

// folders are the versions of which there is a state.
func folders(t *testing.T) []string {
	t.Helper()
	entries := must(os.ReadDir(states))(t)
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	if !slices.Contains(out, currentState) {
		t.Fatalf("%s has no folder %s: write it with -update", states, currentState)
	}
	return out
}

func readState(t *testing.T, version string) kept {
	t.Helper()
	read := func(name string) []byte {
		text := must(os.ReadFile(filepath.Join(states, version, name)))(t)
		return text
	}
	k := kept{People: string(read("people.csv"))}
	for name, into := range map[string]any{"system.json": &k.System, "end.json": &k.End} {
		if err := json.Unmarshal(read(name), into); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	k.Documents, k.Messages = decodeLines[document](t, read("documents.jsonl")), decodeLines[letter](t, read("messages.jsonl"))
	return k
}

func decodeLines[T any](t *testing.T, text []byte) []T {
	t.Helper()
	var out []T
	for d := json.NewDecoder(bytes.NewReader(text)); ; {
		var v T
		switch err := d.Decode(&v); {
		case errors.Is(err, io.EOF):
			return out
		case err != nil:
			t.Fatal(err)
		}
		out = append(out, v)
	}
}

func lines[T any](values []T) []byte {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	for _, v := range values {
		if err := e.Encode(v); err != nil {
			panic(err) // it was made of JSON
		}
	}
	return out.Bytes()
}

func indented(v any) []byte {
	text, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		panic(err) // texts, numbers and times
	}
	return append(text, '\n')
}

// documents are all items of the store, by place.
func (w *world) documents() []document {
	w.t.Helper()
	var all []document
	items := must(w.store.Dump(w.ctx, ""))(w.t)
	for _, i := range items {
		all = append(all, document{i.PK, i.ID, i.Type, i.Doc})
	}
	slices.SortFunc(all, func(a, b document) int { return cmp.Or(cmp.Compare(a.PK, b.PK), cmp.Compare(a.ID, b.ID)) })
	return all
}

// TestStateIsWritten writes the state of this version with -update. The expected end is the
// end in the system that wrote it.
func TestStateIsWritten(t *testing.T) {
	if !*update {
		return
	}
	if changes := must(os.ReadFile("../../CHANGELOG.md"))(t); bytes.Contains(changes, []byte("\n## ["+currentState+".")) {
		t.Fatalf("%s is released, and its state stays as it is: give currentState the name of the version that is being made", currentState)
	}
	for name, text := range stateFiles(t) {
		folder := filepath.Join(states, currentState)
		noError(t, os.MkdirAll(folder, 0o755))
		noError(t, os.WriteFile(filepath.Join(folder, name), text, 0o644))
	}
}

// TestStateIsTheSameEachTime compares two states that this version makes, so that a change
// of a stored shape changes only the lines that it concerns.
func TestStateIsTheSameEachTime(t *testing.T) {
	t.Parallel()
	first, second := stateFiles(t), stateFiles(t)
	for name, text := range first {
		was, is := strings.Split(string(text), "\n"), strings.Split(string(second[name]), "\n")
		for i, line := range was {
			if i >= len(is) || is[i] != line {
				t.Errorf("%s differs from line %d on:\n%s\n%s", name, i+1, line, strings.Join(is[min(i, len(is)):min(i+1, len(is))], ""))
				break
			}
		}
		if len(is) > len(was) {
			t.Errorf("%s has %d lines, and then %d", name, len(was), len(is))
		}
	}
}

// stateFiles makes the files of this version's state.
func stateFiles(t *testing.T) map[string][]byte {
	t.Helper()
	m := newMaking(t, azure)
	m.perform()
	m.queue.sort()
	k := kept{Documents: m.documents(), Messages: slices.Clone(m.queue.letters), People: m.people, System: system{m.clock.Now(), m.repeat}}
	m.late = true
	m.carryOn(m.repeat, func(d time.Duration) { m.clock.ns.Add(int64(d)); m.deliver(); m.tick() })
	k.End = m.endings()
	return map[string][]byte{
		"documents.jsonl": lines(k.Documents), "messages.jsonl": lines(k.Messages), "people.csv": []byte(k.People),
		"system.json": indented(k.System), "end.json": indented(k.End), "shape.txt": []byte(strings.Join(shapes(), "\n") + "\n"),
	}
}

// TestStateIsTakenOver: what a version has left behind, this one brings to its end.
func TestStateIsTakenOver(t *testing.T) {
	t.Parallel()
	for _, version := range folders(t) {
		k := readState(t, version)
		for _, hard := range []bool{false, true} {
			if hard && testing.Short() {
				continue
			}
			t.Run(fmt.Sprintf("%s, each message twice %t", version, hard), func(t *testing.T) {
				t.Parallel()
				s := k.stage(t, hard)
				s.deliverAll()
				s.carryOn(k.System.Repeat, func(d time.Duration) { s.pass(d); s.tick() })
				ends := s.endings()
				for id, want := range k.End {
					if got := string(indented(ends[id])); got != string(indented(want)) {
						t.Errorf("batch %d ends as\n%s\nwant\n%s", id, got, indented(want))
					}
				}
				if len(ends) != len(k.End) {
					t.Errorf("%d batches, want %d", len(ends), len(k.End))
				}
				for _, d := range s.documents() {
					losesNothing(t, d.PK+"/"+d.ID, StoredTypes[d.Type], d.Doc)
				}
			})
		}
	}
}

// stage is a system of this version that finds the state.
func (k kept) stage(t *testing.T, hard bool) *stage {
	t.Helper()
	s := newStage(t, hard, azure)
	s.clock.ns.Store(k.System.At.UnixNano())
	s.broker.Tick()
	file := filepath.Join(t.TempDir(), "people.csv")
	noError(t, os.WriteFile(file, []byte(k.People), 0o600))
	s.env["PEOPLE"] = file
	for _, d := range k.Documents {
		s.commit(store.Create(store.Key{PK: d.PK, ID: d.ID, Type: d.Type}, d.Doc))
	}
	for _, l := range k.Messages {
		m := bus.Message{ID: l.ID, Body: l.Body, Properties: map[string]any{}, At: l.At}
		for name, v := range l.Properties {
			m.Properties[name] = v
		}
		if !l.At.After(k.System.At) {
			m.At = time.Time{}
		}
		noError(t, s.bus.Send(s.ctx, l.Topic, m))
	}
	s.script = script{}
	for _, function := range []string{"Group", "List", "New", "Join", "Copy", "Tell", "Check", "Leave", "Stop", "Delete", "Do", "Done"} {
		s.script[function] = moverOf(true)
	}
	return s
}

// shapes are the fields of all that this version stores and sends.
func shapes() []string {
	return slices.Concat(Shape("document", StoredTypes), Shape("message", SentTypes))
}
