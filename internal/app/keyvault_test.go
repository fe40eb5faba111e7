package app_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/secret/vault"
	"github.com/matoolkit/matoolkit/internal/store"
	"github.com/matoolkit/matoolkit/local/entra"
	"github.com/matoolkit/matoolkit/local/keyvault"
)

// vaultStage is a stage whose key is in a local Key Vault, which the real client reads.
type vaultStage struct {
	*vaulted
	directory *entra.Server
	vault     *keyvault.Server
	value     string // of the first version of the key
	version   string
}

const keyName = "secrets-key"

func newVaultStage(t *testing.T) *vaultStage {
	t.Helper()
	config := entra.DefaultConfig()
	config.Addr = "127.0.0.1:0"
	directory := must(entra.Start(t.Context(), config))(t)
	t.Cleanup(func() { _ = directory.Close() })
	certificate := must(directory.ServerCertificate())(t)
	server, err := keyvault.Start(t.Context(), keyvault.Config{
		Certificate: certificate, Authority: directory.URL(), TenantID: entra.DefaultTenantID, VerifyToken: directory.VerifyToken,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	v := &vaultStage{vaulted: withKey(newStage(t, false)), directory: directory, vault: server}
	v.value, v.version = v.rotate()
	v.restart()
	return v
}

// rotate adds a version of the key.
func (v *vaultStage) rotate() (value, version string) {
	v.t.Helper()
	value = base64.StdEncoding.EncodeToString([]byte(fmt.Sprintf("%-32d", v.vault.Reads())))
	version = must(v.vault.Set(keyName, keyvault.Secret{Value: value}))(v.t)
	return value, version
}

type handlerIdentity struct{ directory *entra.Server }

func (h handlerIdentity) GetToken(_ context.Context, o policy.TokenRequestOptions) (azcore.AccessToken, error) {
	token, err := h.directory.IssueAppToken(entra.DefaultWorkerClientID, o.Scopes[0])
	return azcore.AccessToken{Token: token, ExpiresOn: time.Now().Add(time.Hour)}, err
}

// restart starts processes that have read no key yet.
func (v *vaultStage) restart() {
	v.t.Helper()
	keys, err := vault.New(vault.Config{
		URL: v.vault.URL(), Name: keyName, Credential: handlerIdentity{v.directory}, HTTP: v.directory.HTTPClient(), Retry: policy.RetryOptions{MaxRetries: -1},
	})
	noError(v.t, err)
	v.useKeys(keys)
}

// begin publishes the runbooks and starts a batch with secrets up to the job that needs one.
func (v *vaultStage) begin(keys ...string) int {
	v.t.Helper()
	v.publish(secretRunbook)
	return v.batch("moves", secretFile(keys...)).ID
}

// wantLost checks that an error names the key, its version and the remedy.
func (v *vaultStage) wantLost(text string) {
	v.t.Helper()
	for _, part := range []string{"secret Password", "version " + v.version + " of the key " + keyName, "gone from Key Vault or disabled: recover or enable it, and retry", "SecretLost"} {
		if !strings.Contains(text, part) {
			v.t.Errorf("the error %q does not name %q", text, part)
		}
	}
}

// TestKeyRemovedFromTheVault: steps that need the secret fail with an error that names the
// key and the remedy. Everybody else goes on, and after a recovery a retry goes on with the
// same value.
func TestKeyRemovedFromTheVault(t *testing.T) {
	t.Parallel()
	v := newVaultStage(t)
	v.script = script{"New": always(`{"complete":true,"data":{"id":7,"token":"t0ken"}}`)}
	id := v.begin("ann", "ben")
	v.publish(flat)
	others := v.batch("flat", people(2)).ID
	v.vault.Delete(keyName)

	v.advance(id) // this process has the key
	v.wantPhases(id, "create completed 2/0/0, verify pending 0/0/0")
	late := v.batch("moves", secretFile("cid", "dan")).ID
	v.restart()
	v.advance(late)
	v.wantMember(late, 1, "failed")
	v.wantLost(v.member(late, 1).Error)
	v.advance(others)
	v.wantStatus(others, "completed")
	v.wantRefused(errorOf(v.app.CreateBatch(v.ctx, ada, "moves", []byte(secretFile("eve")))), api.CodeUnavailable, "cannot be read")

	must(v.vault.SetVersion(keyName, v.version, keyvault.Secret{Value: v.value}))(t)
	jobs := len(v.jobs)
	v.retry(late, api.Selection{})
	v.wantPhases(late, "create completed 2/0/0, verify pending 0/0/0")
	if got := v.paramsOf("New"); len(v.jobs) == jobs || got["Password"] != canary {
		t.Errorf("after the recovery the worker got %v", got)
	}
	v.wantNowhere("recovered", id, late)
}

// TestKeyRemovedWhileTheWorkerHasTheSecret: what the worker then says is not stored, for it
// cannot be searched for the secret.
func TestKeyRemovedWhileTheWorkerHasTheSecret(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]worker{
		"failure": fails(errors.New("the password " + canary + " is too simple")),
		"success": always(`{"complete":true,"data":{"id":"` + strings.ReplaceAll(canary, `"`, `\"`) + `","token":"t"}}`),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := newVaultStage(t)
			id := v.begin("ann")
			v.script = script{"New": func(j message.Job) (string, error) {
				v.vault.Delete(keyName)
				v.restart()
				return answer(j)
			}}
			v.advance(id)
			v.wantMember(id, 1, "failed")
			v.wantLost(v.member(id, 1).Error)
			if got := v.member(id, 1).Error; !strings.Contains(got, "the worker's answer was not stored") {
				t.Errorf("the error is %q", got)
			}
			v.wantNowhere("answered", id)
		})
	}
}

// TestVaultIsAway: a job that needs a secret waits, and goes on when the vault is back.
func TestVaultIsAway(t *testing.T) {
	t.Parallel()
	v := newVaultStage(t)
	v.script = script{"New": always(`{"complete":true,"data":{"id":7,"token":"t0ken"}}`)}
	id := v.begin("ann", "ben")
	v.publish(flat)
	others := v.batch("flat", people(2)).ID
	v.vault.Fail(&keyvault.Failure{Status: 503, Code: "Unavailable"})
	v.restart()
	before := v.vault.Reads()
	done := make(chan struct{})
	go func() {
		defer close(done)
		for v.vault.Reads() < before+3 && v.ctx.Err() == nil {
			time.Sleep(time.Millisecond)
		}
		v.mu.Lock()
		defer v.mu.Unlock()
		for _, j := range v.jobs {
			if j.FunctionName == "New" {
				v.t.Errorf("a job was sent without its secret: %s", j.Parameters)
			}
		}
		v.vault.Fail(nil)
	}()
	v.advance(id)
	<-done
	v.wantPhases(id, "create completed 2/0/0, verify pending 0/0/0")
	if got := v.paramsOf("New"); got["Password"] != canary {
		t.Errorf("the worker got %v", got)
	}
	v.advance(others)
	v.wantStatus(others, "completed")
	v.wantNowhere("the vault was away", id, others)
}

// TestKeyIsRotated: values that were encrypted with the old version open, and new ones are
// encrypted with the new one.
func TestKeyIsRotated(t *testing.T) {
	t.Parallel()
	v := newVaultStage(t)
	v.script = script{"New": always(`{"complete":true,"data":{"id":7,"token":"t0ken"}}`)}
	id := v.begin("ann")
	_, version := v.rotate()
	v.restart()
	later := v.batch("moves", secretFile("ben")).ID
	for batch, of := range map[int]string{id: v.version, later: version} {
		m := must(store.Read[model.Member](v.ctx, v.store, store.MemberKey(batch, 1)))(t)
		if sealed, _ := model.Sealed(m.Doc.Data["Password"]); !strings.Contains(sealed, "."+of+".") {
			t.Errorf("batch %d has %s, want version %s of the key", batch, sealed, of)
		}
		v.advance(batch)
		v.wantPhases(batch, "create completed 1/0/0, verify pending 0/0/0")
		if got := v.paramsOf("New"); got["Password"] != canary {
			t.Errorf("batch %d: the worker got %v", batch, got)
		}
	}
}
