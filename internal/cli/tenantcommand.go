package cli

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/matoolkit/matoolkit/internal/buildinfo"
	"github.com/matoolkit/matoolkit/internal/cli/command"
	"github.com/matoolkit/matoolkit/internal/cli/exit"
	"github.com/matoolkit/matoolkit/internal/cli/login"
	"github.com/matoolkit/matoolkit/internal/humanize"
	"github.com/matoolkit/matoolkit/internal/loopback"
	"github.com/matoolkit/matoolkit/internal/snapshot"
	"github.com/matoolkit/matoolkit/internal/tenantexport"
)

// reportEvery is the least time between two lines of progress.
const reportEvery = 5 * time.Second

// exportFlags are the options of an export.
type exportFlags struct {
	config       tenantexport.Config
	access       login.TenantAccess
	redactionKey string
}

func tenantCommand(c *console) *cobra.Command {
	group := command.Group("tenant", "Read a tenant, for a rehearsal", exportCommand(c))
	return command.WithExample(group, "  matoolkit tenant export --tenant <tenant ID> --app <client ID> --out source")
}

func exportCommand(c *console) *cobra.Command {
	f := &exportFlags{}
	export := &cobra.Command{
		Use: "export", Short: "Read a snapshot of a tenant into a folder", Args: command.Needs(),
		Long: `Reads what the functions of the catalogue look at: domains, products and free
licences, users, deleted users, managers, groups with members and owners, and
recipients with addresses, forwarding, permissions and holds. Nothing is
changed in the tenant: all requests read.

Sign in with an app registration of its own that can only read, --app: by
default with the browser of this machine, with --device-code on another one,
or unattended with --certificate or a client secret in the variable
MATOOLKIT_EXPORT_CLIENT_SECRET. The command first lists the permissions that
it needs, and those that are missing (docs/rehearse.md).

The export uses a quarter of the requests that Graph allows an application,
and two of the three commands that Exchange Online runs at once. For 100,000
users expect about an hour, and about seven hours more for each detail that
takes a command for each mailbox (--mailbox-details; none: no details).

An export that breaks off continues with the same command. The objects are
not of one moment: manifest.json in the folder has the times of the beginning
and the end, and what was left out.

The files have names and addresses. --encrypt-to encrypts them with age.
--redact replaces names, addresses and ids so that conflicts and structure
stay: equal values stay equal. The key is thrown away. Two tenants that are
rehearsed together need one key: give both exports the same --redaction-key,
and delete that file then. It is created if it does not exist.`,
		Example: `  matoolkit tenant export --tenant <tenant ID> --app <client ID> --out source
  matoolkit tenant export --tenant <tenant ID> --app <client ID> --out target \
      --certificate reader.pem --mailbox-details none
  matoolkit tenant export --tenant <tenant ID> --app <client ID> --out shared \
      --redact --redaction-key both.key
  matoolkit tenant export --tenant <tenant ID> --app <client ID> --out source \
      --encrypt-to age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p`,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.export(cmd, f) },
	}
	flags := export.Flags()
	flags.StringVar(&f.config.TenantID, "tenant", "", "id of the tenant, a GUID")
	flags.StringVar(&f.access.ClientID, "app", "", "client ID of the app registration that reads the tenant")
	flags.StringVar(&f.config.Dir, "out", "", "folder of the snapshot: new, empty, or of an export that was broken off")
	flags.StringVar(&f.access.Certificate, "certificate", "", "PEM or PFX file with which the application signs in")
	flags.BoolVar(&f.access.DeviceCode, "device-code", false, "sign in with a code that you enter in a browser")
	flags.StringSliceVar(&f.config.Details, "mailbox-details", []string{tenantexport.FullAccess}, "details that take a command for each mailbox: "+strings.Join(tenantexport.Details(), ", ")+", or none")
	flags.BoolVar(&f.config.Redact, "redact", false, "replace names, addresses and ids")
	flags.StringVar(&f.redactionKey, "redaction-key", "", "file with the key of --redact, for tenants that are rehearsed together")
	flags.StringSliceVar(&f.config.EncryptTo, "encrypt-to", nil, "recipient of age (age1…); repeatable")
	flags.StringVar(&f.config.GraphURL, "graph-url", tenantexport.GraphURL, "address of Microsoft Graph, of a national cloud with --authority")
	flags.StringVar(&f.config.ExchangeURL, "exchange-url", tenantexport.ExchangeURL, "address of Exchange Online, of a national cloud with --authority")
	flags.SortFlags = false
	return command.Lists(export)
}

func (c *console) export(cmd *cobra.Command, f *exportFlags) error {
	if err := f.complete(); err != nil {
		return err
	}
	all, err := c.Settings()
	if err != nil {
		return err
	}
	web, err := login.HTTPClient(all)
	if err != nil {
		return err
	}
	web.Timeout = 5 * time.Minute
	f.access.TenantID = f.config.TenantID
	if f.config.Token, err = c.Opener().TenantTokens(all, web, f.access); err != nil {
		return err
	}
	f.config.HTTP, f.config.Tool, f.config.Now = web, "matoolkit "+buildinfo.Version, c.Env.Now
	f.config.Notice, f.config.Progress = c.Notice, c.progress()
	c.Notice("Permissions of the app registration %s:", f.access.ClientID)
	m, err := tenantexport.Run(cmd.Context(), f.config)
	if err != nil {
		return f.failed(err)
	}
	table := c.Table("kind", "objects")
	for _, kind := range snapshot.Kinds() {
		table.Row(string(kind), fmt.Sprint(m.Objects(kind)))
	}
	if err := c.Print(m, table); err != nil {
		return err
	}
	c.Notice("")
	for _, left := range m.LeftOut {
		c.Notice("Left out: %s (%s).", left.What, left.Why)
	}
	c.Notice("The snapshot is in %s.", f.config.Dir)
	return nil
}

// complete checks the options.
func (f *exportFlags) complete() error {
	for _, need := range []struct{ value, option, text string }{
		{f.config.TenantID, "--tenant", "the id of the tenant"},
		{f.access.ClientID, "--app", "the client ID of an app registration that can only read (docs/rehearse.md)"},
		{f.config.Dir, "--out", "the folder of the snapshot"},
	} {
		if need.value == "" {
			return exit.Usagef("%s is missing: give %s", need.option, need.text)
		}
	}
	for option, value := range map[string]string{"--tenant": f.config.TenantID, "--app": f.access.ClientID} {
		if _, err := uuid.Parse(value); err != nil {
			return exit.Usagef("%s is %q: give a GUID, such as 7e4a1c52-0000-4000-8000-6d61746f6f6c", option, value)
		}
	}
	if slices.Equal(f.config.Details, []string{"none"}) {
		f.config.Details = nil
	}
	for _, detail := range f.config.Details {
		if !slices.Contains(tenantexport.Details(), detail) {
			return exit.Usagef("--mailbox-details has %q; use %s, or none", detail, strings.Join(tenantexport.Details(), ", "))
		}
	}
	for option, value := range map[*string]string{&f.config.GraphScope: f.config.GraphURL, &f.config.ExchangeScope: f.config.ExchangeURL} {
		u, err := url.Parse(value)
		if err != nil || u.Host == "" || strings.Trim(u.Path, "/") != "" {
			return exit.Usagef("%q is not the address of a service, such as %s", value, tenantexport.GraphURL)
		}
		switch local := loopback.Is(u.Hostname()); {
		case local && option == &f.config.GraphScope: // a local tenant stands for the public cloud
			*option = tenantexport.GraphURL + "/.default"
		case local:
			*option = tenantexport.ExchangeURL + "/.default"
		case u.Scheme != "https":
			return exit.Usagef("%q is not an https address", value)
		}
	}
	if f.redactionKey == "" {
		return nil
	}
	if !f.config.Redact {
		return exit.Usagef("--redaction-key is for --redact")
	}
	var err error
	f.config.RedactionKey, err = readRedactionKey(f.redactionKey)
	return err
}

// readRedactionKey reads a key, or creates the file with a new one.
func readRedactionKey(path string) ([]byte, error) {
	content, err := os.ReadFile(path)
	if err == nil {
		key, err := hex.DecodeString(strings.TrimSpace(string(content)))
		if err != nil || len(key) != 32 {
			return nil, exit.Usagef("--redaction-key: %s does not have a key of 64 hexadecimal digits: give a file that does not exist, to create one", path)
		}
		return key, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, exit.Usagef("--redaction-key: %w", err)
	}
	key := make([]byte, 32)
	if _, err := rand.Read(key); err != nil {
		return nil, fmt.Errorf("redaction key: %w", err)
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, exit.Usagef("--redaction-key: %w", err)
	}
	_, err = file.WriteString(hex.EncodeToString(key) + "\n")
	if closed := file.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return nil, fmt.Errorf("redaction key: %w", err)
	}
	return key, nil
}

// failed gives an error of an export its exit status, and says how to go on.
func (f *exportFlags) failed(err error) error {
	var missing *tenantexport.MissingPermissionsError
	var signIn *exit.Error
	switch {
	case errors.As(err, &missing):
		return &exit.Error{Status: exit.NotSignedIn, Text: err.Error(), Hint: "docs/rehearse.md describes the app registration"}
	case errors.As(err, &signIn):
		return signIn
	case errors.Is(err, context.Canceled):
		return err
	}
	return &exit.Error{Status: exit.Failed, Text: err.Error(), Hint: "What was read is kept in " + f.config.Dir + ". Continue with the same command."}
}

// progress prints how far an export is, every few seconds.
func (c *console) progress() func(tenantexport.Progress) {
	var last tenantexport.Progress
	return func(p tenantexport.Progress) {
		since := p.Elapsed - last.Elapsed
		if last.Kind == p.Kind && since < reportEvery {
			return
		}
		line := fmt.Sprintf("%s: %d", p.Kind, p.Objects)
		if p.Expected > 0 {
			line += fmt.Sprintf(" of %d", p.Expected)
		}
		if last.Kind == p.Kind && p.Objects > last.Objects && since > 0 {
			rate := float64(p.Objects-last.Objects) / since.Seconds()
			line += fmt.Sprintf(", %.0f a second", rate)
			if left := p.Expected - p.Objects; left > 0 {
				line += ", " + (time.Duration(float64(left)/rate) * time.Second).String() + " left"
			}
		}
		line += "; " + humanize.Count(p.Requests, "request")
		if p.Waited > 0 {
			line += ", throttled for " + p.Waited.Round(time.Second).String()
		}
		c.Notice("%s", line)
		last = p
	}
}
