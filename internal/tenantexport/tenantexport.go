// Package tenantexport reads a snapshot of a tenant from Microsoft Graph and Exchange Online, over plain HTTP. It never
// writes to the tenant: every request is a GET, a $batch of GETs, or a command whose cmdlet begins with Get-.
package tenantexport

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/matoolkit/matoolkit/internal/snapshot"
)

// Details of mailboxes that take a command for each mailbox.
const (
	FullAccess  = "full-access"  // permissions on whole mailboxes
	Calendars   = "calendars"    // permissions on calendars
	AutoReplies = "auto-replies" // automatic replies
)

// Details are all details.
func Details() []string { return []string{FullAccess, Calendars, AutoReplies} }

// Addresses and scopes of the public cloud.
const (
	GraphURL    = "https://graph.microsoft.com"
	ExchangeURL = "https://outlook.office365.com"
)

// Config of an export. Dir, TenantID, Tool and Token are required.
type Config struct {
	Dir      string
	TenantID string // id of the tenant, a GUID
	Tool     string // name and version of the program

	GraphURL, ExchangeURL     string // without a path; empty: those of the public cloud
	GraphScope, ExchangeScope string // of tokens; empty: the URL with /.default
	// Token returns an access token for a scope such as https://graph.microsoft.com/.default. fresh asks for one that was not
	// given before, because the tenant refuses the last.
	Token func(ctx context.Context, scope string, fresh bool) (string, error)
	HTTP  *http.Client // nil: one with a time limit of five minutes

	Details   []string // of mailboxes, of Details()
	EncryptTo []string // recipients of age; none: the files are not encrypted
	Redact    bool
	// RedactionKey has snapshots of several tenants replace equal values by equal ones. Nil: a new one, which is thrown away.
	RedactionKey []byte

	Notice   func(format string, args ...any) // what the administrator should know; nil: not reported
	Progress func(Progress)                   // after each page; nil: not reported
	Now      func() time.Time                 // nil: time.Now
	// Units is how many resource units a second the export uses of Graph. 0: a quarter of what an application has in the
	// smallest tenants.
	Units int
	// Backoff is the first delay after a failed request without Retry-After; it doubles up to 64 times. 0: two seconds.
	Backoff time.Duration
}

// Progress is how far an export is.
type Progress struct {
	Kind     snapshot.Kind
	Objects  int // of the kind, with those of the run that was broken off
	Expected int // of the kind; 0: unknown
	Requests int // of this run; each step of a $batch counts
	Waited   time.Duration
	Elapsed  time.Duration
}

// export is one run.
type export struct {
	Config
	*client
	out    *snapshot.Writer
	redact *redactor // nil: values stay
	begun  time.Time
	total  map[snapshot.Kind]int
	// restarts are how often a kind was read from its beginning again.
	restarts map[snapshot.Kind]int
}

// maxRestarts is how often one run reads a kind from its beginning again. Each time can take hours.
const maxRestarts = 3

// state has the needs of a broken-off export beside its files. Finish deletes it.
type state struct {
	TenantID     string   `json:"tenantId"`
	RedactionKey []byte   `json:"redactionKey,omitempty"`
	Details      []string `json:"details"`
}

// Run exports the tenant, or continues an export that was broken off in the same folder. After an error, the same
// Config continues it.
func Run(ctx context.Context, c Config) (snapshot.Manifest, error) {
	if c.GraphURL == "" {
		c.GraphURL = GraphURL
	}
	if c.ExchangeURL == "" {
		c.ExchangeURL = ExchangeURL
	}
	for scope, root := range map[*string]string{&c.GraphScope: c.GraphURL, &c.ExchangeScope: c.ExchangeURL} {
		if *scope == "" {
			*scope = strings.TrimRight(root, "/") + "/.default"
		}
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Backoff == 0 {
		c.Backoff = 2 * time.Second
	}
	if c.Units == 0 {
		c.Units = graphUnits
	}
	if c.Notice == nil {
		c.Notice = func(string, ...any) {}
	}
	e := &export{Config: c, client: newClient(c), begun: c.Now(), total: map[snapshot.Kind]int{}, restarts: map[snapshot.Kind]int{}}
	if err := e.open(); err != nil {
		return snapshot.Manifest{}, err
	}
	missing, err := e.checkPermissions(ctx)
	if err != nil {
		return snapshot.Manifest{}, err
	}
	err = e.read(ctx, missing)
	if err != nil {
		// The objects so far are kept, also when the context has ended.
		return snapshot.Manifest{}, errors.Join(err, e.out.Sync())
	}
	e.leaveOut()
	return e.out.Finish()
}

// open begins or continues the snapshot.
func (e *export) open() error {
	o := snapshot.Options{TenantID: e.TenantID, Tool: e.Tool, Redacted: e.Redact, EncryptTo: e.EncryptTo, Now: e.Now}
	now := state{TenantID: e.TenantID, Details: e.Details}
	if now.Details == nil {
		now.Details = []string{}
	}
	if e.Redact {
		o.TenantID = "redacted"
		if now.RedactionKey = e.RedactionKey; now.RedactionKey == nil {
			now.RedactionKey = make([]byte, 32)
			if _, err := rand.Read(now.RedactionKey); err != nil {
				return fmt.Errorf("export: %w", err)
			}
		}
	}
	var err error
	if o.State, err = json.Marshal(now); err != nil {
		return fmt.Errorf("export: %w", err)
	}
	if e.out, err = snapshot.Create(e.Dir, o); err != nil {
		return err
	}
	var kept state
	if err := json.Unmarshal(e.out.State(), &kept); err != nil {
		return fmt.Errorf("export: %s has the state of another program: choose another folder", e.Dir)
	}
	switch {
	case kept.TenantID != e.TenantID:
		return fmt.Errorf("export: %s has the beginning of a snapshot of tenant %s: choose another folder", e.Dir, kept.TenantID)
	case strings.Join(kept.Details, ",") != strings.Join(now.Details, ","):
		return fmt.Errorf("export: %s was begun with the details %q: continue it with them, or choose another folder", e.Dir, kept.Details)
	case e.Redact && e.RedactionKey != nil && string(kept.RedactionKey) != string(e.RedactionKey):
		return fmt.Errorf("export: %s was begun with another redaction key: continue it with that, or choose another folder", e.Dir)
	}
	if e.Redact {
		e.redact = newRedactor(kept.RedactionKey)
	}
	if e.out.Resumed() {
		e.Notice("Continuing the export that was broken off in %s.", e.Dir)
	}
	return nil
}

// read reads all kinds. missing are the optional permissions that the token lacks, with the part that is left out for each.
func (e *export) read(ctx context.Context, missing map[string]string) error {
	for _, step := range []func(context.Context) error{e.readDomains, e.readUsers, e.readDeletedUsers, e.readLicenses} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	policies := e.readPolicies
	if what := missing[policyPermission]; what != "" {
		policies = func(context.Context) error { return e.leaveOutPolicies(what) }
	}
	if err := policies(ctx); err != nil {
		return err
	}
	return e.readExchange(ctx)
}

// leaveOut notes what no export has.
func (e *export) leaveOut() {
	for _, entry := range []snapshot.LeftOut{
		{What: "content of mailboxes, OneDrives, sites and teams", Why: "an export reads the directory only"},
		{What: "addresses of OneDrives (mySite)", Why: "Graph has them for one user at a time"},
		{What: "authentication methods and passwords", Why: "they are secrets, or take a request for each user"},
		{What: "recipients of other kinds, such as public folders and dynamic distribution lists", Why: "no function of the catalogue reads them"},
		{What: "soft-deleted mailboxes and groups", Why: "no function of the catalogue reads them"},
		{What: "migration batches and jobs", Why: "they belong to a migration that is under way"},
	} {
		e.out.LeaveOut("", entry.What, entry.Why)
	}
	for _, detail := range Details() {
		if !e.detail(detail) {
			e.out.LeaveOut(snapshot.Recipients, detail+" of mailboxes", "they take a command for each mailbox, and were not asked for")
		}
	}
}

func (e *export) detail(name string) bool {
	for _, d := range e.Details {
		if d == name {
			return true
		}
	}
	return false
}

// add appends objects of a kind, redacted if asked for, and reports the progress. last says that the kind has no more.
func (e *export) add(kind snapshot.Kind, position string, objects []any, last bool) error {
	if e.redact != nil {
		for i, object := range objects {
			redacted, err := e.redact.object(kind, object)
			if err != nil {
				return fmt.Errorf("export: redact: %w", err)
			}
			objects[i] = redacted
		}
	}
	write := e.out.Append
	if last {
		write = e.out.Complete
	}
	if err := write(kind, position, objects...); err != nil {
		return err
	}
	e.report(kind)
	return nil
}

// begin returns where to continue a kind. Of one that is at its beginning, it drops what an earlier run left out.
func (e *export) begin(kind snapshot.Kind) (position string, complete bool, err error) {
	position, complete = e.out.Position(kind)
	if position == "" && !complete {
		err = e.out.Restart(kind)
	}
	return position, complete, err
}

// restart forgets a kind, because the service refuses the link to its next page. A service that refuses it each time ends
// the run, which keeps the objects before the link.
func (e *export) restart(kind snapshot.Kind, refusal error) error {
	if e.restarts[kind] == maxRestarts {
		return fmt.Errorf("%w. The service refused the link to the next %s again, after they were read from the beginning %d times: try later; the same command continues from there",
			refusal, kind, maxRestarts)
	}
	e.restarts[kind]++
	e.Notice("The service no longer takes the link to the next %s: they are read from the beginning.", kind)
	return e.out.Restart(kind)
}

func (e *export) report(kind snapshot.Kind) {
	if e.Progress == nil {
		return
	}
	requests, waited := e.counts()
	e.Progress(Progress{
		Kind: kind, Objects: e.out.Objects(kind), Expected: e.total[kind], Requests: requests, Waited: waited, Elapsed: e.Now().Sub(e.begun),
	})
}
