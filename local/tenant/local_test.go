package tenant_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/tenant"
)

// childDir names the data directory of a tenant that this test binary runs as
// a process of its own, to be killed.
const childDir = "TENANT_TEST_CHILD_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		s, err := tenant.Start(context.Background(), tenant.Config{DataDir: dir})
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println(s.URL())
		select {}
	}
	os.Exit(m.Run())
}

func TestWhatWasAnsweredOutlivesAKill(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	child := exec.CommandContext(t.Context(), os.Args[0])
	child.Env = append(os.Environ(), childDir+"="+dir)
	out := testenv.Must(child.StdoutPipe())(t)
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	remote := remoteRig{t, strings.TrimSpace(line)}
	remote.post("/_local/seed", tenant.Seed{VerifiedDomains: []string{"contoso.com"}})
	var ids []string
	for i := range 20 {
		ids = append(ids, remote.post("/v1.0/users", person(fmt.Sprint("user", i)))["id"].(string))
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	child.Wait()

	r := start(t, tenant.Config{DataDir: dir})
	for i, u := range r.State().Users {
		if u.ID() != ids[i] {
			t.Errorf("user %d is %s, want %s", i, u.ID(), ids[i])
		}
	}
	if n := len(r.State().Users); n != 20 {
		t.Errorf("%d users", n)
	}
	r.must(400, "POST", "/v1.0/users", person("user3"))
	r.must(400, "POST", "/v1.0/users", with(person("new"), map[string]any{"userPrincipalName": "new@elsewhere.com"}))
}

// remoteRig is a tenant in another process.
type remoteRig struct {
	t   *testing.T
	url string
}

func (r remoteRig) post(path string, body any) map[string]any {
	r.t.Helper()
	encoded := testenv.Must(json.Marshal(body))(r.t)
	a := postJSON(r.t, r.url+path, string(encoded))
	if a.status >= 300 {
		r.t.Fatalf("POST %s: %d %s", path, a.status, a.raw)
	}
	return a.body
}

func TestARestartKeepsEverything(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cfg := tenant.Config{DataDir: dir, Seed: exchangeSeed()}
	first := start(t, cfg)
	eva, group := first.newMailUser("eva"), first.newGroup("g")
	first.must(204, "POST", "/v1.0/groups/"+group+"/members/$ref", first.link(eva))
	first.mustCmdlet("Set-MailUser", map[string]any{"Identity": eva, "CustomAttribute3": "x", "ArchiveGuid": "dddddddd-0000-0000-0000-000000000001"})
	first.must(204, "DELETE", "/v1.0/users/dan@contoso.com", nil)
	want := testenv.Must(json.Marshal(first.State()))(t)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	cfg.Seed = nil
	got, err := json.Marshal(start(t, cfg).State())
	if err != nil || string(got) != string(want) {
		t.Errorf("%v\ngot  %s\nwant %s", err, got, want)
	}
}

func TestASeedMayBeGivenAgain(t *testing.T) {
	t.Parallel()
	r := start(t, tenant.Config{Seed: exchangeSeed()})
	r.must(204, "PATCH", "/v1.0/users/"+annID, map[string]any{"city": "Bern"})
	before := fmt.Sprint(r.State())
	if err := r.Seed(*exchangeSeed()); err != nil {
		t.Fatal(err)
	}
	if after := fmt.Sprint(r.State()); after != before {
		t.Errorf("the second seed changed the state:\n%s\n%s", before, after)
	}
}

func TestSeedsThatAreWrongAreRefused(t *testing.T) {
	t.Parallel()
	r := start(t, tenant.Config{})
	for reason, seed := range map[string]tenant.Seed{
		"unknown property":  {Users: []tenant.User{{"userPrincipalName": "a@b.c", "shoe": "43"}}},
		"no name":           {Users: []tenant.User{{"mail": "a@b.c"}}},
		"unknown member":    {Groups: []tenant.SeedGroup{{Properties: map[string]any{"mailNickname": "g"}, Members: []string{"who"}}}},
		"unknown user":      {Recipients: []tenant.Recipient{{Kind: tenant.MailUser, UserPrincipalName: "who@b.c"}}},
		"list without mail": {Groups: []tenant.SeedGroup{{Properties: map[string]any{"mailNickname": "l", "mailEnabled": true}}}},
	} {
		if err := r.Seed(seed); err == nil {
			t.Errorf("%s: accepted", reason)
		}
	}
}

func TestTheLocalEndpoint(t *testing.T) {
	t.Parallel()
	r := start(t, tenant.Config{})
	r.must(204, "POST", "/_local/seed", exchangeSeed())
	r.must(204, "PUT", "/_local/faults", tenant.Faults{Rules: []tenant.Fault{{Op: "GET /users", Count: 1, Status: 503}}})
	r.do("GET", "/v1.0/users", nil)
	r.do("GET", "/v1.0/users", nil)
	r.mustCmdlet("Get-Recipient", nil)

	var state tenant.State
	if err := json.Unmarshal(r.must(200, "GET", "/_local/state", nil).raw, &state); err != nil {
		t.Fatal(err)
	}
	if len(state.Users) != 4 || len(state.Recipients) != 4 || len(state.Groups[0].Members) != 2 || state.Recipients[1].Primary() != "ann@contoso.com" {
		t.Errorf("state = %+v", state)
	}
	requests := strings.TrimSpace(string(r.must(200, "GET", "/_local/requests", nil).raw))
	if want := `{"exchange Get-Recipient":{"200":1},"graph GET /users":{"200":1,"503":1}}`; requests != want {
		t.Errorf("got  %s\nwant %s", requests, want)
	}
	r.must(400, "PUT", "/_local/faults", `{"rules":[{"statsu":500}]}`)
	r.must(404, "GET", "/_local/secrets", nil)
	req := r.request("POST", "/_local/seed", "{}")
	req.Header.Set("Content-Type", "text/plain")
	if a, _ := r.send(req); a.status != 415 {
		t.Errorf("a form post: %d", a.status)
	}
	req = r.request("GET", "/_local/state", nil)
	req.Host = "evil.example:80"
	if a, _ := r.send(req); a.status != 403 {
		t.Errorf("a foreign host name: %d", a.status)
	}
}

func TestTheLocalEndpointCanBeOff(t *testing.T) {
	t.Parallel()
	r := start(t, tenant.Config{NoLocalEndpoint: true})
	for path, method := range map[string]string{"/_local/state": "GET", "/_local/requests": "GET", "/_local/seed": "POST", "/_local/faults": "PUT"} {
		if body := string(r.must(404, method, path, "{}").raw); !strings.Contains(body, "is off") {
			t.Errorf("%s: %s", path, body)
		}
	}
}

func TestOnlyLoopbackIsServed(t *testing.T) {
	t.Parallel()
	for _, addr := range []string{"0.0.0.0:0", ":0", "192.0.2.1:0", "nonsense"} {
		if s, err := tenant.Start(t.Context(), tenant.Config{Addr: addr}); err == nil {
			s.Close()
			t.Errorf("%s is served", addr)
		}
	}
}

// Many workers at once create every user once.
func TestConcurrentWritersMakeOneOfEach(t *testing.T) {
	t.Parallel()
	r := start(t, tenant.Config{})
	const writers, people = 4, 25
	results := make(chan int, writers*people)
	for range writers {
		go func() {
			for i := range people {
				results <- r.cmdlet("New-MailUser", mailUser(fmt.Sprint("p", i))).status
			}
		}()
	}
	count := map[int]int{}
	deadline := time.After(20 * time.Second)
	for range writers * people {
		select {
		case status := <-results:
			count[status]++
		case <-deadline:
			t.Fatal("not finished in time")
		}
	}
	if count[200] != people || count[400]+count[429] != (writers-1)*people {
		t.Errorf("statuses: %v", count)
	}
	if state := r.State(); len(state.Users) != people || len(state.Recipients) != people {
		t.Errorf("%d users, %d recipients", len(state.Users), len(state.Recipients))
	}
}
