// Command train is the function Train-SemanticModel, which workers start for each job: it reads the job from standard
// input and writes its answer to standard output, as docs/write-a-worker.md says.
//
// It computes a model of the documented repositories of a bundle, and stores it as an artifact. It computes none if the
// model of that bundle exists, if the bundle has been replaced meanwhile, or if too few repositories are documented.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"github.com/matoolkit/matoolkit/examples/context-bundle/bundle"
	"github.com/matoolkit/matoolkit/examples/context-bundle/github"
	"github.com/matoolkit/matoolkit/internal/artifact"
	"github.com/matoolkit/matoolkit/internal/artifact/blobstorage"
	"github.com/matoolkit/matoolkit/internal/tlsroots"
	"github.com/matoolkit/matoolkit/worker/catalog"
)

// Environment variables, which the manifest names.
const (
	envEndpoint  = "BLOB_ENDPOINT"  // endpoint of Blob Storage
	envContainer = "BLOB_CONTAINER" // container of the artifacts
)

// leastDocumented is how many documented repositories a model needs.
const leastDocumented = 3

// job is the object that the worker writes to standard input.
type job struct {
	Parameters struct{ Owner, Bundle, Fingerprint string }
	Tenant     struct {
		Tokens struct {
			Storage struct {
				Token     string
				ExpiresAt time.Time
			}
		}
	}
}

// trained is the result.
type trained struct {
	Model        string // key of the artifact, empty if there is none
	Fingerprint  string // of the bundle
	Repositories int    // in the model
	Terms        int
	Skipped      bool
	Reason       string // why it was skipped
}

func main() {
	answer := map[string]any{"success": true}
	if result, err := run(context.Background(), os.Stdin, os.Getenv); err != nil {
		answer = map[string]any{"success": false, "error": describe(err)}
	} else {
		answer["result"] = result
	}
	if err := json.NewEncoder(os.Stdout).Encode(answer); err != nil {
		fmt.Fprintln(os.Stderr, "train:", err)
		os.Exit(1)
	}
}

// describe is an error as workers read it.
func describe(err error) map[string]any {
	var failure *catalog.Failure
	if errors.As(err, &failure) {
		return map[string]any{"type": failure.Type, "message": failure.Message}
	}
	return map[string]any{"message": err.Error()}
}

func run(ctx context.Context, stdin io.Reader, getenv func(string) string) (trained, error) {
	var j job
	if err := json.NewDecoder(stdin).Decode(&j); err != nil {
		return trained{}, fmt.Errorf("standard input has no job: %w", err)
	}
	store, err := open(getenv, azcore.AccessToken{Token: j.Tenant.Tokens.Storage.Token, ExpiresOn: j.Tenant.Tokens.Storage.ExpiresAt})
	if err != nil {
		return trained{}, err
	}
	return trainBundle(ctx, store, j.Parameters.Owner, j.Parameters.Bundle, j.Parameters.Fingerprint)
}

// fixed is a credential that has one token.
type fixed struct{ token azcore.AccessToken }

func (f fixed) GetToken(context.Context, policy.TokenRequestOptions) (azcore.AccessToken, error) {
	return f.token, nil
}

func open(getenv func(string) string, token azcore.AccessToken) (artifact.Store, error) {
	web, err := tlsroots.HTTPClient(getenv(tlsroots.EnvCAFile))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", tlsroots.EnvCAFile, err)
	}
	return blobstorage.New(blobstorage.Config{Endpoint: getenv(envEndpoint), Container: getenv(envContainer), Credential: fixed{token}, HTTP: web})
}

// trainBundle stores the model of a bundle. The bundle that is stored may be a later one by now: its own job trains that.
func trainBundle(ctx context.Context, store artifact.Store, owner, reference, fingerprint string) (trained, error) {
	skipped := func(model, format string, args ...any) (trained, error) {
		return trained{Model: model, Fingerprint: fingerprint, Skipped: true, Reason: fmt.Sprintf(format, args...)}, nil
	}
	if err := github.CheckOwner(owner); err != nil {
		return trained{}, err
	}
	if key := bundle.Key(owner); reference != key.String() || fingerprint == "" {
		return trained{}, &catalog.Failure{Type: catalog.FailureParameters, Message: "Bundle is not the key of the owner's bundle, or Fingerprint is empty: use the outputs of Merge-Bundle"}
	}
	key := bundle.ModelKey(owner, fingerprint)
	switch _, err := store.Stat(ctx, key); {
	case err == nil:
		return skipped(key.String(), "the model of this bundle exists")
	case !errors.Is(err, artifact.ErrNotFound):
		return trained{}, bundle.StoreFailure(err)
	}
	b, properties, err := bundle.Read[bundle.Bundle](ctx, store, bundle.Key(owner))
	documented := b.Documented()
	switch {
	case errors.Is(err, artifact.ErrNotFound):
		return skipped("", "the bundle was deleted")
	case err != nil:
		return trained{}, err
	case properties.Fingerprint != fingerprint:
		return skipped("", "the bundle was replaced by a later one")
	case len(documented) < leastDocumented:
		return skipped("", "%d repositories are documented; a model needs %d", len(documented), leastDocumented)
	}
	model := train(fingerprint, documented)
	if _, err := bundle.Write(ctx, store, artifact.Properties{Key: key, Fingerprint: fingerprint, Generation: properties.Generation}, model); err != nil {
		return trained{}, err
	}
	return trained{Model: key.String(), Fingerprint: fingerprint, Repositories: len(documented), Terms: model.Terms}, nil
}
