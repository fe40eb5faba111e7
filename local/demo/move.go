package demo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/runbook"
	"github.com/matoolkit/matoolkit/local/tenant"
)

// The tenants of the example tenant-to-tenant, which are the names of the files with their objects.
const (
	Source = "source"
	Target = "target"
)

// Leaver is the member of the example tenant-to-tenant who leaves the batch after the copy of the mailbox.
const Leaver = "mia.andersen@contoso.com"

// MoveFailures are the members of the example tenant-to-tenant who must fail, with the phase and a part of their errors.
var MoveFailures = map[string]struct{ Phase, Reason string }{
	"daniel.garcia@contoso.com": {"checks", "belongs to the user daniel.garcia@fabrikam.onmicrosoft.com"},
	"hana.suzuki@contoso.com":   {"checks", "LitigationHold"},
	"isak.berg@contoso.com":     {"checks", "fabrikam.no"},
	"grace.okafor@contoso.com":  {"prepare", "no licence of SPE_E5 is left"},
	"julia.novak@contoso.com":   {"copy", "auto-expanding"},
	"kofi.mensah@contoso.com":   {"cut-over", "is already being used by the proxy addresses"},
}

// RunMove runs the demo of a migration between two tenants. It fails unless the result is that of the example.
func RunMove(ctx context.Context, c Config) error {
	c.Open += " --tenants " + Source + "," + Target
	return run(ctx, &demo{Config: c, tenants: []string{Source, Target}}, (*demo).runMove)
}

func (d *demo) runMove(ctx context.Context) error {
	return d.steps(ctx, []step{
		{"Start Azure and two tenants on this machine", d.start},
		{"Add the people of Contoso to the source, and those of Fabrikam to the target", d.seed},
		{"Sign in as an administrator", d.command("auth", "login")},
		{"Start a worker for each tenant", d.startWorker},
		{"Publish the runbook", d.command("runbook", "publish", filepath.Join(d.Example, "runbook.yaml"))},
		{"Create a batch from a CSV file of members", d.create},
		{"Show what would fail", d.showChecks},
		{"Prepare the accounts in the target, and copy the mailboxes", d.advanceThrough("copy")},
		{"Remove a person who stays with Contoso after all", func(ctx context.Context) error {
			return d.command("batch", "remove-member", strconv.Itoa(d.batch), Leaver, "--yes", "--reason", "stays with Contoso")(ctx)
		}},
		{"Move the mailboxes, switch over, and clean up the source", d.advance},
		{"Show phases and failed members", d.summary},
		{"Check both tenants", d.checkMove},
	})
}

// showChecks waits for the checks, and lists those that failed.
func (d *demo) showChecks(ctx context.Context) error {
	id := strconv.Itoa(d.batch)
	text, err := os.ReadFile(filepath.Join(d.Example, "runbook.yaml"))
	if err != nil {
		return err
	}
	rb, problems := runbook.Parse(text)
	if len(problems) > 0 {
		return fmt.Errorf("runbook.yaml: %v", problems)
	}
	rows, err := Rows(filepath.Join(d.Example, "members.csv"))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		checks, err := ask[api.Page[api.Check]](ctx, d, "batch", "checks", id, "--all")
		if err != nil && len(checks.Items) == 0 {
			return err
		}
		running := slices.ContainsFunc(checks.Items, func(c api.Check) bool { return c.Status == "running" })
		if !running && len(checks.Items) == len(rows)*len(rb.Checks) {
			break
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the checks have not ended: %w", ctx.Err())
		case <-time.After(100 * time.Millisecond):
		}
	}
	fmt.Fprintf(d.out, "$ matoolkit batch checks %s --status failed\n", id)
	_ = d.cli(ctx, d.Console, "batch", "checks", id, "--status", "failed") // status 1, since there are some
	return nil
}

func (d *demo) checkMove(ctx context.Context) error {
	b, err := ask[api.Batch](ctx, d, "batch", "get", strconv.Itoa(d.batch))
	if err != nil {
		return err
	}
	members, err := ask[api.Page[api.Member]](ctx, d, "batch", "members", strconv.Itoa(d.batch), "--limit", "1000")
	if err != nil {
		return err
	}
	rows, err := Rows(filepath.Join(d.Example, "members.csv"))
	if err != nil {
		return err
	}
	source, err := State(ctx, d.endpoints.TenantURLs[Source])
	if err != nil {
		return err
	}
	target, err := State(ctx, d.endpoints.TenantURLs[Target])
	if err != nil {
		return err
	}
	moved, err := CheckMove(b, members.Items, rows, source, target)
	if err != nil {
		return err
	}
	fmt.Fprintf(d.out, "%d people are in Fabrikam with their names, licences, addresses and permissions, and their accounts in Contoso are blocked and free of its domain.\n", moved)
	fmt.Fprintf(d.out, "%d people failed for the expected reasons, and what was done for them is undone. One left, and is in Contoso as before.\n", len(MoveFailures))
	return nil
}

// CheckMove returns the number of people who have moved, and all differences from the expected result.
func CheckMove(b api.Batch, members []api.Member, rows []map[string]string, source, target tenant.State) (moved int, err error) {
	var errs []error
	if b.Status != "completed" {
		errs = append(errs, fmt.Errorf("the batch is %s: %s", b.Status, b.Error))
	}
	status := map[string]api.Member{}
	for _, m := range members {
		status[m.Key] = m
	}
	for _, row := range rows {
		key := row["Upn"]
		m, at := status[key], find(row, source, target)
		check := at.moved
		switch failure, fails := MoveFailures[key]; {
		case fails && (m.Status != "failed" || !strings.Contains(m.Error, failure.Phase) || !strings.Contains(m.Error, failure.Reason)):
			errs = append(errs, fmt.Errorf("%s must fail in %s with %q, but is %s: %s", key, failure.Phase, failure.Reason, m.Status, m.Error))
			continue
		case fails && failure.Phase == "cut-over":
			check = at.halfMoved
		case fails && failure.Phase == "copy":
			check = at.prepared
		case fails, key == Leaver:
			check = at.untouched
			if !fails && m.Status != "removed" {
				errs = append(errs, fmt.Errorf("%s is %s, not removed", key, m.Status))
			}
		case m.Status != api.MemberDone:
			errs = append(errs, fmt.Errorf("%s is %s: %s", key, m.Status, m.Error))
			continue
		default:
			moved++
		}
		for _, text := range check() {
			errs = append(errs, fmt.Errorf("%s: %s", key, text))
		}
	}
	if len(target.Mails) != 1 {
		errs = append(errs, fmt.Errorf("%d mails were sent, not one", len(target.Mails)))
	}
	return moved, errors.Join(errs...)
}

// places are where a person is: the account and the recipient of each tenant, and the migration job.
type places struct {
	row                map[string]string
	oldUser, newUser   tenant.User
	oldPlace, newPlace tenant.Recipient
	jobs               int // migration jobs that have the person
	inList             int
	target             tenant.State
}

func find(row map[string]string, source, target tenant.State) places {
	p := places{row: row, target: target}
	p.oldUser, p.oldPlace = account(source, func(u tenant.User) bool { return u.ID() == row["SourceId"] })
	p.newUser, p.newPlace = account(target, func(u tenant.User) bool { return u.Text("displayName") == row["Name"] })
	for _, j := range target.Jobs {
		if strings.HasSuffix(j.Name, " "+row["Alias"]) {
			p.jobs++
		}
	}
	for _, g := range target.Groups {
		for _, id := range g.Members {
			if id == p.newUser.ID() && id != "" {
				p.inList++
			}
		}
	}
	return p
}

func account(state tenant.State, is func(tenant.User) bool) (tenant.User, tenant.Recipient) {
	at := slices.IndexFunc(state.Users, is)
	if at < 0 {
		return nil, tenant.Recipient{}
	}
	u := state.Users[at]
	if at = slices.IndexFunc(state.Recipients, func(r tenant.Recipient) bool { return r.ExternalDirectoryObjectID == u.ID() }); at < 0 {
		return u, tenant.Recipient{}
	}
	return u, state.Recipients[at]
}

// facts says which of some facts are not as they should be.
func facts(all ...fact) (wrong []string) {
	for _, f := range all {
		if f.got != f.want {
			wrong = append(wrong, fmt.Sprintf("%s is %v, not %v", f.what, f.got, f.want))
		}
	}
	return wrong
}

type fact struct {
	what      string
	got, want any
}

func (p places) interim() string { return p.row["Alias"] + "@fabrikam.onmicrosoft.com" }

func licenses(u tenant.User) int {
	list, _ := u["assignedLicenses"].([]any)
	return len(list)
}

// untouched: the person is in the source as before, and not in the target.
func (p places) untouched() []string {
	return append(p.stillInSource(), facts(fact{"the account in the target", p.newUser != nil, false}, fact{"the number of migration jobs", p.jobs, 0})...)
}

func (p places) stillInSource() []string {
	return facts(
		fact{"the sign-in name in the source", p.oldUser.UPN(), p.row["Upn"]}, fact{"the source's account enabled", p.oldUser["accountEnabled"], true},
		fact{"the recipient in the source", p.oldPlace.Kind, tenant.UserMailbox}, fact{"the number of licences in the source", licenses(p.oldUser), 1},
	)
}

// prepared: the target has the account, and the mailbox stays in the source.
func (p places) prepared() []string {
	return append(p.stillInSource(), facts(
		fact{"the sign-in name in the target", p.newUser.UPN(), p.interim()}, fact{"the recipient in the target", p.newPlace.Kind, tenant.MailUser},
		fact{"the number of migration jobs", p.jobs, 0}, fact{"the number of lists", p.inList, 0},
	)...)
}

// halfMoved: the mailbox has moved, and the names are those from before.
func (p places) halfMoved() []string {
	return facts(
		fact{"the sign-in name in the target", p.newUser.UPN(), p.interim()}, fact{"the recipient in the target", p.newPlace.Kind, tenant.UserMailbox},
		fact{"the primary address", p.newPlace.Primary(), p.interim()}, fact{"the recipient in the source", p.oldPlace.Kind, tenant.MailUser},
		fact{"the source's account enabled", p.oldUser["accountEnabled"], true}, fact{"the number of migration jobs", p.jobs, 1},
	)
}

// moved: the person works in the target, and the account in the source is blocked, renamed and without addresses of its domain.
func (p places) moved() []string {
	wrong := facts(
		fact{"the sign-in name in the target", p.newUser.UPN(), p.row["NewUpn"]}, fact{"the department", p.newUser.Text("department"), p.row["Department"]},
		fact{"the number of licences in the target", licenses(p.newUser), 1}, fact{"the recipient in the target", p.newPlace.Kind, tenant.UserMailbox},
		fact{"the primary address", p.newPlace.Primary(), p.row["NewUpn"]}, fact{"the number of lists", p.inList, 1},
		fact{"the number of migration jobs", p.jobs, 0},
		fact{"the source's account enabled", p.oldUser["accountEnabled"], false}, fact{"the sign-in name in the source", p.oldUser.UPN(), p.row["Alias"] + "@contoso.onmicrosoft.com"},
		fact{"the addresses in the source", smtpAddresses(p.oldPlace), p.row["Alias"] + "@contoso.onmicrosoft.com"}, fact{"the recipient in the source hidden", p.oldPlace.Hidden, true},
	)
	if p.row["Mailbox"] == "stays" {
		return append(wrong, facts(
			fact{"the recipient in the source", p.oldPlace.Kind, tenant.UserMailbox}, fact{"the number of licences in the source", licenses(p.oldUser), 1},
			fact{"the address that mail is forwarded to", p.oldPlace.ForwardingSMTP, p.interim()}, fact{"automatic replies", p.oldPlace.AutoReply != nil, true},
			fact{"the mailbox in the target is another one", p.newPlace.ExchangeGUID != p.oldPlace.ExchangeGUID, true},
		)...)
	}
	return append(wrong, facts(
		fact{"the recipient in the source", p.oldPlace.Kind, tenant.MailUser}, fact{"the number of licences in the source", licenses(p.oldUser), 0},
		fact{"the address that mail goes on to", p.oldPlace.ExternalEmailAddress, p.interim()}, fact{"the mailbox", p.newPlace.ExchangeGUID, p.oldPlace.ExchangeGUID},
		fact{"the archive", p.newPlace.ArchiveGUID, p.oldPlace.ArchiveGUID},
		fact{"the address of old mails", slices.Contains(p.newPlace.EmailAddresses, "x500:"+p.oldPlace.LegacyExchangeDN()), true},
	)...)
}

func smtpAddresses(r tenant.Recipient) string {
	var all []string
	for _, a := range r.EmailAddresses {
		if kind, rest, _ := strings.Cut(a, ":"); strings.EqualFold(kind, "smtp") {
			all = append(all, rest)
		}
	}
	return strings.Join(all, " ")
}
