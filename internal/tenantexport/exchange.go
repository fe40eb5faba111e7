package tenantexport

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/google/uuid"

	"github.com/matoolkit/matoolkit/internal/panics"
	"github.com/matoolkit/matoolkit/internal/snapshot"
)

const (
	// Page sizes of commands. Mailboxes whose details take commands of their own come in small pages, because an export that
	// breaks off reads the page again.
	commandPageSize = 1000
	detailPageSize  = 100

	zeroGUID = "00000000-0000-0000-0000-000000000000"
	self     = `NT AUTHORITY\SELF`
)

// command runs a cmdlet, whose name begins with Get-, and returns a page of its output with the link to the next page.
// next is such a link, or empty.
func (e *export) command(ctx context.Context, cmdlet string, parameters map[string]any, next string, size int) (found []json.RawMessage, link string, err error) {
	if !strings.HasPrefix(cmdlet, "Get-") {
		return nil, "", fmt.Errorf("export: %s may write", cmdlet)
	}
	type input struct {
		CmdletName string
		Parameters map[string]any
	}
	body, err := json.Marshal(struct{ CmdletInput input }{input{cmdlet, parameters}})
	if err != nil {
		return nil, "", fmt.Errorf("export: %w", err)
	}
	if next == "" {
		next = strings.TrimRight(e.ExchangeURL, "/") + "/adminapi/beta/" + url.PathEscape(e.TenantID) + "/InvokeCommand"
	}
	var answer struct {
		Value []json.RawMessage `json:"value"`
		Next  string            `json:"@odata.nextLink"`
	}
	err = e.do(ctx, request{method: http.MethodPost, address: next, body: body, header: map[string]string{
		"Content-Type":      "application/json",
		"Accept-Encoding":   "identity", // refusals come falsely labelled as gzip
		"Prefer":            fmt.Sprintf("odata.maxpagesize=%d", size),
		"X-AnchorMailbox":   "APP:SystemMailbox{bb558c35-97f1-4cb9-8ff7-d53741dc928c}@" + e.TenantID,
		"X-CmdletName":      cmdlet,
		"X-ResponseFormat":  "json",
		"client-request-id": uuid.NewString(),
	}}, &answer)
	return answer.Value, answer.Next, err
}

// each calls do for all objects that a cmdlet prints.
func (e *export) each(ctx context.Context, cmdlet string, parameters map[string]any, do func(printed) error) error {
	next := ""
	for {
		found, link, err := e.command(ctx, cmdlet, parameters, next, commandPageSize)
		if err != nil {
			return err
		}
		for _, raw := range found {
			p, err := parse(cmdlet, raw)
			if err != nil {
				return err
			}
			if err := do(p); err != nil {
				return err
			}
		}
		if next = link; next == "" {
			return nil
		}
	}
}

func parse(cmdlet string, raw json.RawMessage) (printed, error) {
	var p printed
	if err := json.Unmarshal(raw, &p); err != nil {
		return p, fmt.Errorf("export: %s: the answer is not the expected JSON: %w", cmdlet, err)
	}
	return p, nil
}

func unlimited() map[string]any { return map[string]any{"ResultSize": "Unlimited"} }

func (e *export) readExchange(ctx context.Context) error {
	if err := e.readNames(ctx, snapshot.OrganizationHolds, "Get-OrganizationConfig", func(p printed) []string { return p.InPlaceHolds }); err != nil {
		return err
	}
	if err := e.readNames(ctx, snapshot.MigrationEndpoints, "Get-MigrationEndpoint", func(p printed) []string { return []string{p.Identity} }); err != nil {
		return err
	}
	_, groups := e.out.Position(snapshot.Groups)
	_, recipients := e.out.Position(snapshot.Recipients)
	if groups && recipients {
		return nil
	}
	x, err := e.readIndex(ctx)
	if err != nil {
		return err
	}
	if err := e.readGroups(ctx, x); err != nil {
		return err
	}
	return e.readRecipients(ctx, x)
}

func (e *export) readNames(ctx context.Context, kind snapshot.Kind, cmdlet string, of func(printed) []string) error {
	if _, complete := e.out.Position(kind); complete {
		return nil
	}
	var names []any
	if err := e.each(ctx, cmdlet, nil, func(p printed) error {
		for _, name := range of(p) {
			names = append(names, name)
		}
		return nil
	}); err != nil {
		return err
	}
	return e.add(kind, "", names, true)
}

// readRecipients reads mailboxes, mail users and contacts. The position is the cmdlet and the link to its next page.
func (e *export) readRecipients(ctx context.Context, x *index) error {
	text, complete, err := e.begin(snapshot.Recipients)
	if err != nil || complete {
		return err
	}
	steps := []string{"Get-Mailbox", "Get-MailUser", "Get-MailContact"}
	step, next, _ := strings.Cut(text, " ")
	for i := max(0, slices.Index(steps, step)); i < len(steps); i++ {
		cmdlet := steps[i]
		size := commandPageSize
		if cmdlet == "Get-Mailbox" && len(e.Details) > 0 {
			size = detailPageSize
		}
		for {
			found, link, err := e.command(ctx, cmdlet, unlimited(), next, size)
			if next != "" && refused(err, http.StatusBadRequest, http.StatusNotFound, http.StatusGone) {
				if err := e.restart(snapshot.Recipients, err); err != nil {
					return err
				}
				return e.readRecipients(ctx, x)
			}
			if err != nil {
				return err
			}
			objects, err := e.recipients(ctx, cmdlet, found, x)
			if err != nil {
				return err
			}
			position := cmdlet + " " + link
			if link == "" && i+1 < len(steps) {
				position = steps[i+1] + " "
			}
			if err := e.add(snapshot.Recipients, position, objects, link == "" && i+1 == len(steps)); err != nil {
				return err
			}
			if next = link; next == "" {
				break
			}
		}
	}
	return nil
}

// recipients converts a page of recipients, with the details of mailboxes, which it reads at the same time.
func (e *export) recipients(ctx context.Context, cmdlet string, found []json.RawMessage, x *index) ([]any, error) {
	var all []*recipient
	for _, raw := range found {
		p, err := parse(cmdlet, raw)
		if err != nil {
			return nil, err
		}
		r, why := p.recipient()
		if why != "" {
			e.out.LeaveOut(snapshot.Recipients, "recipients of the type "+cmp.Or(p.RecipientTypeDetails, p.RecipientType, "?"), why)
			continue
		}
		r.SendAs = x.sendAs[strings.ToLower(p.Name)]
		r.SendOnBehalf = x.ids(p.GrantSendOnBehalfTo)
		all = append(all, r)
	}
	if cmdlet == "Get-Mailbox" && len(e.Details) > 0 {
		if err := e.addDetails(ctx, all, x); err != nil {
			return nil, err
		}
	}
	objects := make([]any, len(all))
	for i, r := range all {
		objects[i] = r
	}
	return objects, nil
}

// addDetails reads the details of mailboxes, as many at once as exchangeCommands.
func (e *export) addDetails(ctx context.Context, mailboxes []*recipient, x *index) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	work := make(chan *recipient)
	var all sync.WaitGroup
	for range exchangeCommands {
		all.Go(func() {
			if err := panics.Catch(ctx, func() error {
				for r := range work {
					if err := e.addDetail(ctx, r, x); err != nil {
						return err
					}
				}
				return nil
			}); err != nil {
				cancel(err)
			}
		})
	}
	for _, r := range mailboxes {
		select {
		case work <- r:
		case <-ctx.Done():
		}
	}
	close(work)
	all.Wait()
	return context.Cause(ctx)
}

func (e *export) addDetail(ctx context.Context, r *recipient, x *index) error {
	identity := map[string]any{"Identity": r.ExternalDirectoryObjectID}
	gone := func(err error) bool { return refused(err, http.StatusNotFound) } // deleted meanwhile
	if e.detail(FullAccess) {
		err := e.each(ctx, "Get-MailboxPermission", identity, func(p printed) error {
			if p.User.Name != self && !p.Deny && !p.IsInherited && slices.Contains(p.AccessRights, "FullAccess") {
				r.FullAccess = append(r.FullAccess, x.ids([]string{p.User.Name})...)
			}
			return nil
		})
		if err != nil && !gone(err) {
			return err
		}
	}
	if e.detail(Calendars) {
		if err := e.addCalendar(ctx, r, x); err != nil && !gone(err) {
			return err
		}
	}
	if e.detail(AutoReplies) {
		err := e.each(ctx, "Get-MailboxAutoReplyConfiguration", identity, func(p printed) error {
			if p.AutoReplyState != "" && p.AutoReplyState != "Disabled" {
				r.AutoReply = &autoReply{p.AutoReplyState, message(p.InternalMessage), message(p.ExternalMessage), p.ExternalAudience, p.StartTime, p.EndTime}
			}
			return nil
		})
		if err != nil && !gone(err) {
			return err
		}
	}
	return nil
}

// message is the text of an automatic reply, which Exchange gives back as a page.
func message(page string) string {
	inner := strings.TrimSuffix(strings.TrimPrefix(page, "<html>\n<body>\n"), "\n</body>\n</html>\n")
	return inner
}

// addCalendar reads the permissions on a calendar, whose name depends on the language of the mailbox.
func (e *export) addCalendar(ctx context.Context, r *recipient, x *index) error {
	read := func(folder string) error {
		return e.each(ctx, "Get-MailboxFolderPermission", map[string]any{"Identity": r.ExternalDirectoryObjectID + `:\` + folder}, func(p printed) error {
			entry := folderPermission{p.User.Name, p.AccessRights}
			switch p.User.Name {
			case "Default", "Anonymous":
				if standard := map[string]string{"Default": "AvailabilityOnly", "Anonymous": "None"}; slices.Equal(p.AccessRights, []string{standard[p.User.Name]}) {
					return nil
				}
			default:
				ids := x.ids([]string{p.User.Name})
				if len(ids) == 0 {
					return nil
				}
				entry.User = ids[0]
			}
			r.Calendar = append(r.Calendar, entry)
			return nil
		})
	}
	err := read("Calendar")
	if !refused(err, http.StatusNotFound) {
		return err
	}
	name := ""
	if err := e.each(ctx, "Get-MailboxFolderStatistics", map[string]any{"Identity": r.ExternalDirectoryObjectID, "FolderScope": "Calendar"}, func(p printed) error {
		if p.FolderType == "Calendar" {
			name = strings.ReplaceAll(strings.TrimPrefix(p.FolderPath, "/"), "/", `\`)
		}
		return nil
	}); err != nil || name == "" {
		return err
	}
	r.CalendarFolder = name
	return read(name)
}
