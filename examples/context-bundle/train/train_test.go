package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/examples/context-bundle/bundle"
	"github.com/matoolkit/matoolkit/internal/artifact"
	"github.com/matoolkit/matoolkit/internal/artifact/memory"
	"github.com/matoolkit/matoolkit/internal/testenv"
)

// repository is documented if it has a text.
func repository(name, readme string) bundle.Repository {
	return bundle.Repository{Repository: name, Readme: readme, Documented: readme != "", Context: json.RawMessage(`{"stack":["go"]}`)}
}

var four = []bundle.Repository{
	repository("api", "# Payments\nAn API of payments and invoices."),
	repository("bare", ""),
	repository("docs", "# Handbook\nHow we write invoices."),
	repository("shop", "# Shop\nPayments, invoices and a cart."),
}

// put stores a bundle and returns its fingerprint.
func put(t *testing.T, store artifact.Store, generation int64, repositories ...bundle.Repository) string {
	t.Helper()
	b := bundle.Bundle{Owner: "octo", Repositories: repositories}
	p := artifact.Properties{Key: bundle.Key("octo"), Fingerprint: b.Fingerprint(), Generation: generation}
	if _, err := bundle.Write(t.Context(), store, p, b); err != nil {
		t.Fatal(err)
	}
	return p.Fingerprint
}

func TestModelOfABundle(t *testing.T) {
	t.Parallel()
	store := &memory.Store{}
	fingerprint := put(t, store, 1, four...)
	got := testenv.Must(trainBundle(t.Context(), store, "Octo", "bundle/octo", fingerprint))(t)
	if got.Skipped || got.Repositories != 3 || got.Terms == 0 || got.Model != bundle.ModelKey("octo", fingerprint).String() {
		t.Fatalf("got %+v", got)
	}
	m, p, err := bundle.Read[Model](t.Context(), store, bundle.ModelKey("octo", fingerprint))
	if err != nil || p.Fingerprint != fingerprint || len(m.Documents) != 3 {
		t.Fatalf("stored %+v %+v %v", m, p, err)
	}
	d := m.Documents[0]
	if d.Repository != "api" || d.Similar[0].Repository != "shop" || d.Similar[0].Cosine <= d.Similar[1].Cosine {
		t.Errorf("similar to api: %+v", d.Similar)
	}
	// "payments" is in two of the documents and twice in this one, "go" in all.
	weight := func(term string) float64 {
		i := slices.IndexFunc(d.Terms, func(t Term) bool { return t.Term == term })
		if i < 0 {
			t.Fatalf("no term %s in %+v", term, d.Terms)
		}
		return d.Terms[i].Weight
	}
	if d.Terms[0].Term != "payments" || weight("api") <= weight("go") {
		t.Errorf("terms of api: %+v", d.Terms)
	}
	var squares float64
	for _, term := range d.Terms {
		squares += term.Weight * term.Weight
	}
	if squares < 0.999 || squares > 1.001 {
		t.Errorf("the vector has the square %f", squares)
	}
}

func TestTrainingIsDeterministic(t *testing.T) {
	t.Parallel()
	first := testenv.Must(json.Marshal(train("f", four)))(t)
	for range 20 {
		if again := testenv.Must(json.Marshal(train("f", four)))(t); string(again) != string(first) {
			t.Fatalf("got %s, before %s", again, first)
		}
	}
}

func TestTrainingIsSkipped(t *testing.T) {
	t.Parallel()
	store := &memory.Store{}
	skip := func(fingerprint, want string) {
		t.Helper()
		got := testenv.Must(trainBundle(t.Context(), store, "octo", "bundle/octo", fingerprint))(t)
		if !got.Skipped || !strings.Contains(got.Reason, want) {
			t.Errorf("got %+v, want %q", got, want)
		}
	}
	skip("none", "was deleted")
	two := put(t, store, 1, four[0], four[1], four[2])
	skip(two, "2 repositories are documented")
	all := put(t, store, 2, four...)
	skip(two, "replaced by a later one")
	testenv.Must(trainBundle(t.Context(), store, "octo", "bundle/octo", all))(t)
	skip(all, "exists")
	// The same repositories again, after another bundle.
	put(t, store, 3, four[0])
	put(t, store, 4, four...)
	skip(all, "exists")
}

func TestTrainingRefusesOtherArtifacts(t *testing.T) {
	t.Parallel()
	for _, c := range [][3]string{{"../octo", "bundle/octo", "f"}, {"octo", "bundle/hubot", "f"}, {"octo", "context/octo/docs", "f"}, {"octo", "bundle/octo", ""}} {
		_, err := trainBundle(t.Context(), &memory.Store{}, c[0], c[1], c[2])
		if err == nil || fmt.Sprint(describe(err)["type"]) != "InvalidParameters" {
			t.Errorf("%v: %v", c, err)
		}
	}
	if _, err := run(t.Context(), strings.NewReader("hello"), func(string) string { return "" }); err == nil {
		t.Error("no job was accepted")
	}
	if _, err := run(t.Context(), strings.NewReader("{}"), func(string) string { return "" }); err == nil || !strings.Contains(err.Error(), "endpoint") {
		t.Errorf("without settings: %v", err)
	}
}
