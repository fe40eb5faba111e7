package sharepoint

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/matoolkit/matoolkit/worker/catalog"
)

// tasksPath is of the tasks that move content to another tenant. They are in beta only.
const tasksPath = "/beta/solutions/sharePoint/migrations/crossOrganizationMigrationTasks"

// kind is a kind of content in Graph's terms.
type kind struct {
	odataType      string
	find, argument string // function that finds the task of a source
	source, target string // properties of the parameters
	key            string // property of the identity; empty: the value itself
}

var kinds = map[string]kind{
	"OneDrive": {
		"#microsoft.graph.sharePointUserMigrationTaskParameters", "getBySourceUserPrincipalName", "sourcePrincipalName",
		"sourceUserIdentity", "targetUserIdentity", "userPrincipalName",
	},
	"Site": {
		"#microsoft.graph.sharePointSiteMigrationTaskParameters", "getBySourceSiteUrl", "sourceSiteUrl", "sourceSiteUrl", "targetSiteUrl", "",
	},
	"Group": {
		"#microsoft.graph.sharePointGroupMigrationTaskParameters", "getBySourceGroupMailNickname", "sourceGroupMailNickname",
		"sourceGroupIdentity", "targetGroupIdentity", "mailNickname",
	},
}

// content is a OneDrive or site that moves, and its target.
type content struct {
	kindName               string
	kind                   kind
	source, target, host   string
	startAfter, startUntil string
}

// readSource reads what moves.
func readSource(p catalog.Params) (content, error) {
	c := content{kindName: p.String("Kind"), kind: kinds[p.String("Kind")], source: p.String("Source")}
	return c, c.check("Source", c.source)
}

// readContent reads what moves, and where to.
func readContent(p catalog.Params) (content, error) {
	c, err := readSource(p)
	c.target, c.host = p.String("Target"), p.String("TargetHost")
	c.startAfter, c.startUntil = p.String("StartAfter"), p.String("StartBefore")
	if err != nil {
		return c, err
	}
	if err := c.check("Target", c.target); err != nil {
		return c, err
	}
	if !isURL(c.host) || strings.Trim(path(c.host), "/") != "" {
		return c, wrong("TargetHost must be the URL of a host, such as https://fabrikam-my.sharepoint.com")
	}
	var times [2]time.Time
	for i, name := range []string{"StartAfter", "StartBefore"} {
		if !p.Has(name) {
			continue
		}
		if times[i], err = time.Parse(time.RFC3339, p.String(name)); err != nil {
			return c, wrong(name + " must be a time with a zone, such as 2026-03-01T18:00:00Z")
		}
	}
	if p.Has("StartAfter") && p.Has("StartBefore") && !times[1].After(times[0]) {
		return c, wrong("StartBefore must be later than StartAfter")
	}
	return c, nil
}

// check refuses a source or target that is not of the kind.
func (c content) check(name, value string) error {
	switch {
	case c.kindName == "OneDrive" && !strings.Contains(value, "@"):
		return wrong(name + " must be a sign-in name, since Kind is OneDrive")
	case c.kindName == "Site" && !isURL(value):
		return wrong(name + " must be the https URL of a site, since Kind is Site")
	case c.kindName == "Group" && strings.ContainsAny(value, "@/: "):
		return wrong(name + " must be a mail nickname, without a domain, since Kind is Group")
	}
	return nil
}

func isURL(text string) bool {
	u, err := url.Parse(text)
	return err == nil && u.Scheme == "https" && u.Host != "" && u.User == nil && u.RawQuery == "" && u.Fragment == ""
}

func path(text string) string {
	u, _ := url.Parse(text)
	return u.Path
}

func wrong(text string) error {
	return &catalog.Failure{Type: catalog.FailureParameters, Message: text}
}

// findPath is of the task of the source. The source is an alias in the query: a URL in the path would add segments.
func (c content) findPath() string {
	literal := "'" + strings.ReplaceAll(c.source, "'", "''") + "'"
	return fmt.Sprintf("%s/%s(%s=@source)?@source=%s", tasksPath, c.kind.find, c.kind.argument, url.QueryEscape(literal))
}

// body is a new task.
func (c content) body(validateOnly bool) map[string]any {
	identity := func(value string) any {
		if c.kind.key == "" {
			return value
		}
		return map[string]any{c.kind.key: value}
	}
	parameters := map[string]any{
		"@odata.type": c.kind.odataType, "targetOrganizationHost": c.host,
		c.kind.source: identity(c.source), c.kind.target: identity(c.target),
	}
	if validateOnly {
		parameters["validateOnly"] = true
	}
	for name, value := range map[string]string{"preferredStartDateTime": c.startAfter, "preferredLatestStartDateTime": c.startUntil} {
		if value != "" {
			parameters[name] = value
		}
	}
	return map[string]any{"parameters": parameters}
}

// task is a sharePointMigrationTask.
type task struct {
	ID, Status          string
	LastUpdatedDateTime string
	Parameters          map[string]any
	Error               *struct{ Code, Message string }
}

// readTask reads a task as it came.
func readTask(object map[string]any) (t task, err error) {
	if t, err = readValidation(object); err == nil && t.ID != "" {
		return t, nil
	}
	return t, noTask()
}

// readValidation reads the answer to a task that is only validated, which needs no id.
func readValidation(object map[string]any) (t task, err error) {
	raw, err := json.Marshal(object)
	if err == nil {
		err = json.Unmarshal(raw, &t)
	}
	if err != nil {
		return t, noTask()
	}
	return t, nil
}

func noTask() error {
	return &catalog.Failure{Type: catalog.FailureConflict, Attempts: 1, Message: "SharePoint's answer is not a migration task"}
}

func (t task) is(statuses ...string) bool {
	for _, status := range statuses {
		if strings.EqualFold(t.Status, status) {
			return true
		}
	}
	return false
}

// completed tells whether the content is in the target. Examples of the reference have both words.
func (t task) completed() bool { return t.is("completed", "success") }

// ended tells whether the content stays in the source.
func (t task) ended() bool { return t.is("failed", "cancelled") }

// why is the reason of a task that failed.
func (t task) why() string {
	if t.Error == nil || t.Error.Code+t.Error.Message == "" {
		return "SharePoint gives no reason"
	}
	return strings.Trim(t.Error.Code+": "+t.Error.Message, ": ")
}

// touchedSince tells whether the task changed at a time or later.
func (t task) touchedSince(at time.Time) bool {
	changed, err := time.Parse("2006-1-2T15:04:05Z07:00", t.LastUpdatedDateTime) // months without a zero, as in the reference
	return err == nil && !at.IsZero() && !changed.Before(at.Truncate(time.Second))
}

// otherTarget names the target of a task if it is another one than wanted. A value that SharePoint does not return is not
// compared.
func (t task) otherTarget(c content) string {
	have := t.Parameters[c.kind.target]
	if identity, ok := have.(map[string]any); ok {
		have = identity[c.kind.key]
	}
	for _, pair := range [][2]any{{have, c.target}, {t.Parameters["targetOrganizationHost"], c.host}} {
		actual, _ := pair[0].(string)
		if actual != "" && !strings.EqualFold(strings.TrimRight(actual, "/"), strings.TrimRight(pair[1].(string), "/")) {
			return actual
		}
	}
	return ""
}
