package custom_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/worker/catalog"
	"github.com/matoolkit/matoolkit/worker/custom"
)

const (
	graphToken    = "eyJ.of-graph.signature"
	exchangeToken = "eyJ.of-exchange.signature"
)

func (d directory) withTokens(t *testing.T, tokens func(context.Context, string) (custom.Token, error)) *catalog.Catalog {
	t.Helper()
	set := testenv.Must(custom.Load(custom.Config{Dir: d.path, Getenv: environment(), Tokens: tokens, TenantID: "tenant-1", MaxTimeout: time.Hour}))(t)
	return testenv.Must(catalog.New(set.Functions()...))(t)
}

func bothTokens(_ context.Context, api string) (custom.Token, error) {
	value := map[string]string{custom.Graph: graphToken, custom.Exchange: exchangeToken}[api]
	return custom.Token{Value: value, Expires: time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)}, nil
}

// The stand-in of a program that signs in with tokens: it finds them on standard input, and neither in its
// environment nor among its arguments.
const standIn = `input=$(cat)
graph=$(printf '%s' "$input" | sed -n 's/.*"graph":{"token":"\([^"]*\)".*/\1/p')
exchange=$(printf '%s' "$input" | sed -n 's/.*"exchange":{"token":"\([^"]*\)".*/\1/p')
[ "$graph" = eyJ.of-graph.signature ] || { echo "no token for graph" >&2; exit 3; }
[ "$exchange" = eyJ.of-exchange.signature ] || { echo "no token for exchange" >&2; exit 4; }
case "$(env; echo "$0 $*")" in *eyJ*) exit 5 ;; esac
echo "signed in with $graph and $exchange" >&2
printf '%s' "$input" | sed -n 's/.*"tenant":{"id":"\([^"]*\)".*"expiresAt":"\([^"]*\)".*/{"success":true,"result":{"Tenant":"\1","ExpiresAt":"\2"}}/p'
`

func TestAFunctionGetsTheTokensOfItsManifest(t *testing.T) {
	t.Parallel()
	d := newDirectory(t)
	d.script(t, "tokens: [graph, exchange]\nresult: [{name: Tenant, description: Which.}, {name: ExpiresAt, description: When.}]\n", standIn)
	log := &testenv.Buffer{}
	got, failure := callWith(t, withLog(t.Context(), log), d.withTokens(t, bothTokens), `{}`)
	if failure != nil {
		t.Fatalf("%v\n%s", failure, log)
	}
	if want := `{"Tenant":"tenant-1","ExpiresAt":"2026-03-01T10:00:00Z"}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if said := log.String(); strings.Contains(said, "eyJ") || !strings.Contains(said, "signed in with") {
		t.Errorf("the log says %s", said)
	}
}

func TestAFunctionGetsNoOtherTokens(t *testing.T) {
	t.Parallel()
	d := newDirectory(t)
	d.script(t, "result: [{name: Input, description: What was read.}]\n", `printf '{"success":true,"result":{"Input":%s}}' "$(cat)"`)
	got, failure := callWith(t, withLog(t.Context(), &testenv.Buffer{}), d.withTokens(t, bothTokens), `{}`)
	if failure != nil || strings.Contains(got, "eyJ") || strings.Contains(got, "tenant") {
		t.Errorf("got %s, %v", got, failure)
	}
}

func TestATokenIsNotAnAnswer(t *testing.T) {
	t.Parallel()
	for _, script := range []string{
		`printf '{"success":true,"result":{"Input":%s}}' "$(cat)"`,
		`cat >/dev/null; echo '{"success":false,"error":{"message":"refused ` + graphToken + `"}}'`,
	} {
		d := newDirectory(t)
		d.script(t, "tokens: [graph]\n", script)
		_, failure := callWith(t, withLog(t.Context(), &testenv.Buffer{}), d.withTokens(t, bothTokens), `{}`)
		if failure == nil || failure.Type != catalog.FailureInvalidResult || strings.Contains(failure.Message, "eyJ") {
			t.Errorf("got %v", failure)
		}
	}
}

func TestNoProcessStartsWithoutItsTokens(t *testing.T) {
	t.Parallel()
	d := newDirectory(t)
	d.script(t, "tokens: [graph]\n", `echo started >&2; echo '{"success":true}'`)
	log := &testenv.Buffer{}
	c := d.withTokens(t, func(context.Context, string) (custom.Token, error) {
		return custom.Token{}, errors.New("Entra ID does not answer")
	})
	_, failure := callWith(t, withLog(t.Context(), log), c, `{}`)
	if failure == nil || failure.Type != catalog.FailureUnreachable || !strings.Contains(failure.Message, "no token for graph: Entra ID") {
		t.Errorf("got %v", failure)
	}
	if strings.Contains(log.String(), "started") {
		t.Error("the process was started")
	}
}

func TestManifestsWithOtherTokensAreRefused(t *testing.T) {
	t.Parallel()
	for manifest, says := range map[string]string{
		"tokens: [sharepoint]\n":   `do.yaml:4:10: unknown API "sharepoint": use graph or exchange`,
		"tokens: [graph, graph]\n": "do.yaml:4:17: graph is given twice",
		"tokens: graph\n":          "do.yaml:4:9:",
	} {
		d := newDirectory(t)
		d.script(t, manifest, `echo`)
		_, err := custom.Load(custom.Config{Dir: d.path, Getenv: environment(), Tokens: bothTokens})
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %s", manifest, err, says)
		}
	}
	d := newDirectory(t)
	d.script(t, "tokens: [graph]\n", `echo`)
	if _, err := custom.Load(custom.Config{Dir: d.path, Getenv: environment()}); err == nil || !strings.Contains(err.Error(), "this worker has no tokens") {
		t.Errorf("a worker without tokens: %v", err)
	}
	if _, err := custom.Load(custom.Config{Dir: d.path}); err != nil {
		t.Errorf("for its description only: %v", err)
	}
}

// A worker offers the tokens that it has. Where manifests are only described, they may be of any worker.
func TestAFunctionGetsATokenOfTheWorkersOwnIdentity(t *testing.T) {
	t.Parallel()
	d := newDirectory(t)
	d.script(t, "tokens: [storage]\n", `grep -q '"tenant":{"tokens":{"storage":{"token":"token-of-storage",' && echo '{"success":true}'`)
	of := func(_ context.Context, api string) (custom.Token, error) {
		return custom.Token{Value: "token-of-" + api}, nil
	}
	set := testenv.Must(custom.Load(custom.Config{Dir: d.path, Getenv: environment(), Tokens: of, APIs: []string{custom.Storage}}))(t)
	defer func() { _ = set.Close(t.Context()) }()
	if got, failure := callWith(t, t.Context(), testenv.Must(catalog.New(set.Functions()...))(t), `{}`); failure != nil || got != "true" {
		t.Errorf("got %v, %v", got, failure)
	}
	if _, err := custom.Load(custom.Config{Dir: d.path}); err != nil {
		t.Errorf("described: %v", err)
	}
	if _, err := custom.Load(custom.Config{Dir: d.path, Getenv: environment(), Tokens: bothTokens}); err == nil || !strings.Contains(err.Error(), `unknown API "storage": use graph or exchange`) {
		t.Errorf("a worker of a tenant: %v", err)
	}
}
