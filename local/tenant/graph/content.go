package graph

import (
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/matoolkit/matoolkit/local/tenant/directory"
	"github.com/matoolkit/matoolkit/local/tenant/odata"
)

// contentTasks is the path of tasks that move content to another tenant.
const contentTasks = "solutions/sharePoint/migrations/crossOrganizationMigrationTasks"

// contentKind is a kind of content.
type contentKind struct {
	name           string // as in the key of a task
	odataType      string
	find           *regexp.Regexp // function that finds a task by its source
	source, target string         // parameters
	key            []string       // properties of an identity, of which one is given; none: the parameter is a URL
}

var contentKinds = []contentKind{
	{
		"onedrive", "#microsoft.graph.sharePointUserMigrationTaskParameters", regexp.MustCompile(`^getBySourceUserPrincipalName\(sourcePrincipalName=(.+)\)$`),
		"sourceUserIdentity", "targetUserIdentity",
		[]string{"userPrincipalName", "id"},
	},
	{
		"site", "#microsoft.graph.sharePointSiteMigrationTaskParameters", regexp.MustCompile(`^getBySourceSiteUrl\(sourceSiteUrl=(.+)\)$`),
		"sourceSiteUrl", "targetSiteUrl", nil,
	},
	{
		"group", "#microsoft.graph.sharePointGroupMigrationTaskParameters", regexp.MustCompile(`^getBySourceGroupMailNickname\(sourceGroupMailNickname=(.+)\)$`),
		"sourceGroupIdentity", "targetGroupIdentity",
		[]string{"mailNickname"},
	},
}

// createContentTask creates a task, or answers the one that waits, runs or is completed for the same source. With
// validateOnly it does neither.
func (s *Service) createContentTask(c *call) *reply {
	body, refusal := c.object()
	if refusal != nil {
		return refusal
	}
	for name := range body {
		if name != "parameters" && name != "id" && name != "status" && !strings.HasPrefix(name, "@odata.") {
			return unreadable("The property '%s' does not exist on type 'microsoft.graph.sharePointMigrationTask'.", name)
		}
	}
	parameters, _ := body["parameters"].(map[string]any)
	kind, source, refusal := readContent(parameters)
	if refusal != nil {
		return refusal
	}
	s.Directory.Lock()
	defer s.Directory.Unlock()
	at, asOf := s.Times()
	now := at.UTC().Truncate(time.Second) // as Graph writes times
	if refusal := s.checkContent(kind, source, asOf); refusal != nil {
		return refusal
	}
	if parameters["validateOnly"] == true {
		return odata.OK(map[string]any{"@odata.context": c.context(contentTasks + "/$entity"), "status": "completed", "parameters": parameters})
	}
	t := directory.ContentTask{ID: uuid.NewString(), Source: kind.name + " " + directory.Fold(source), Parameters: parameters, Created: now, Updated: now}
	if at := directory.Text(parameters["preferredStartDateTime"]); at != "" {
		t.StartAfter, _ = time.Parse(time.RFC3339, at)
	}
	if last, exists := s.Directory.Contents.Latest(directory.Fold(t.Source)); exists && last.Error == "" && !last.Cancelled {
		t = last
	} else if err := s.Directory.Commit(asOf, directory.PutContentTask(t, at)); err != nil {
		return s.storageFailed(err)
	}
	return odata.OK(s.showContentTask(c, t, at))
}

// readContent reads the parameters of a task.
func readContent(parameters map[string]any) (kind contentKind, source string, refusal *reply) {
	known := false
	for _, k := range contentKinds {
		if k.odataType == directory.Text(parameters["@odata.type"]) {
			kind, known = k, true
		}
	}
	if !known {
		return kind, "", unreadable("The type '%s' is not one of parameters of a migration task.", directory.Text(parameters["@odata.type"]))
	}
	for name, value := range parameters {
		text := directory.Text(value)
		switch name {
		case "@odata.type", kind.source, kind.target:
		case "validateOnly":
			if _, is := value.(bool); !is {
				return kind, "", unreadable("Cannot convert the literal '%v' to the expected type 'Edm.Boolean'.", value)
			}
		case "targetOrganizationHost", "targetOrganizationId":
		case "preferredStartDateTime", "preferredLatestStartDateTime":
			if _, err := time.Parse(time.RFC3339, text); err != nil {
				return kind, "", unreadable("Cannot convert the literal '%v' to the expected type 'Edm.DateTimeOffset'.", value)
			}
		default:
			return kind, "", unreadable("The property '%s' does not exist on type '%s', or is not simulated here.", name, kind.odataType[1:])
		}
	}
	for _, name := range []string{kind.source, kind.target} {
		text := directory.Text(parameters[name])
		identity, _ := parameters[name].(map[string]any)
		for _, key := range kind.key {
			if text == "" {
				text = directory.Text(identity[key])
			}
		}
		if text == "" {
			return kind, "", unreadable("Can't process the request because the required parameter %s is missing.", name)
		}
		if name == kind.source {
			source = text
		}
	}
	if directory.Text(parameters["targetOrganizationHost"])+directory.Text(parameters["targetOrganizationId"]) == "" {
		return kind, "", unreadable("Can't process the request because the required parameter targetOrganizationHost is missing.")
	}
	return kind, source, nil
}

func unreadable(format string, args ...any) *reply {
	return odata.Error(http.StatusBadRequest, "BadRequest", format, args...)
}

// checkContent refuses a source that does not exist. Sites are not simulated: every URL is one.
func (s *Service) checkContent(kind contentKind, source string, asOf time.Time) *reply {
	switch kind.name {
	case "onedrive":
		if u, found := s.findUser(source, asOf); !found || u.Text("mySite") == "" {
			return odata.Error(http.StatusUnprocessableEntity, "UnprocessableEntity", "Unable to get a OneDrive URL for source user UPN %s.", source)
		}
	case "group":
		id, found := s.Directory.Owner("groupNickname", source)
		if _, visible := s.Directory.Groups.Visible(id, asOf); !found || !visible {
			return odata.Error(http.StatusUnprocessableEntity, "UnprocessableEntity", "Unable to get a site for source group %s.", source)
		}
	}
	return nil
}

// contentStatus is the status of a task at a time.
func (s *Service) contentStatus(t directory.ContentTask, now time.Time) string {
	starts := t.StartAfter
	if starts.Before(t.Created) {
		starts = t.Created
	}
	switch {
	case t.Error != "":
		return "failed"
	case t.Cancelled:
		return "cancelled"
	case now.Before(starts.Add(s.MoveDelay / 2)):
		return "notStarted"
	case now.Before(starts.Add(s.MoveDelay)):
		return "inProgress"
	}
	return "completed"
}

func (s *Service) showContentTask(c *call, t directory.ContentTask, now time.Time) map[string]any {
	task := map[string]any{
		"@odata.context": c.context(contentTasks + "/$entity"), "id": t.ID, "status": s.contentStatus(t, now), "parameters": t.Parameters,
		"lastUpdatedDateTime": t.Updated.UTC().Format(time.RFC3339),
	}
	if t.Error != "" {
		task["error"] = map[string]any{"code": "migrationFailed", "message": t.Error}
	}
	return task
}

func (s *Service) findContentTask(c *call) *reply {
	function := c.Arg["function"]
	for _, kind := range contentKinds {
		m := kind.find.FindStringSubmatch(function)
		if m == nil {
			continue
		}
		source, refusal := c.literal(m[1])
		if refusal != nil {
			return refusal
		}
		s.Directory.Lock()
		defer s.Directory.Unlock()
		now, asOf := s.Times()
		t, found := s.Directory.Contents.Visible(directory.Fold(kind.name+" "+source), asOf)
		if !found {
			return odata.Error(http.StatusNotFound, "itemNotFound", "The migration task %s couldn't be found.", source)
		}
		return odata.OK(s.showContentTask(c, t, now))
	}
	return odata.Error(http.StatusBadRequest, "BadRequest", "Resource not found for the segment '%s'.", function)
}

// literal is the text of an argument of a function, which is one in quotes or an alias in the query.
func (c *call) literal(argument string) (string, *reply) {
	if strings.HasPrefix(argument, "@") {
		values := c.Query[argument]
		if len(values) != 1 {
			return "", unreadable("The parameter alias '%s' has no value.", argument)
		}
		argument = values[0]
	}
	if len(argument) < 2 || argument[0] != '\'' || argument[len(argument)-1] != '\'' {
		return "", unreadable("The argument '%s' is not a text in quotes.", argument)
	}
	return unquote(argument[1 : len(argument)-1]), nil
}

func (s *Service) cancelContentTask(c *call) *reply {
	s.Directory.Lock()
	defer s.Directory.Unlock()
	now, asOf := s.Times()
	for t := range s.Directory.Contents.Among(append(s.Directory.Owners("contentTask", c.Arg["task"]), s.Directory.Recent(asOf)...), asOf) {
		if !strings.EqualFold(t.ID, c.Arg["task"]) {
			continue
		}
		t, _ = s.Directory.Contents.Latest(directory.Fold(t.Source))
		switch status := s.contentStatus(t, now); status {
		case "cancelled":
			return odata.NoContent()
		case "notStarted":
			t.Cancelled, t.Updated = true, now.UTC().Truncate(time.Second)
			if err := s.Directory.Commit(asOf, directory.PutContentTask(t, now)); err != nil {
				return s.storageFailed(err)
			}
			return odata.NoContent()
		default:
			return odata.Error(http.StatusConflict, "Conflict", "The migration task is %s and cannot be cancelled.", status)
		}
	}
	return odata.Error(http.StatusNotFound, "itemNotFound", "The migration task %s couldn't be found.", c.Arg["task"])
}

// getDrive finds the OneDrive of a user who has a mySite, which comes from the seed. An application creates none by
// looking for it.
func (s *Service) getDrive(c *call) *reply {
	if refusal := c.onlyOptions("select"); refusal != nil {
		return refusal
	}
	selected, refusal := c.selected("drive", driveProperties)
	if refusal != nil {
		return refusal
	}
	s.Directory.Lock()
	defer s.Directory.Unlock()
	_, asOf := s.Times()
	u, found := s.findUser(c.Arg["user"], asOf)
	if !found {
		return notFound(c.Arg["user"])
	}
	site := u.Text("mySite")
	if site == "" {
		return odata.Error(http.StatusNotFound, "ResourceNotFound", "User's mysite not found.")
	}
	drive := project(driveProperties, map[string]any{"id": "b!" + u.ID(), "webUrl": strings.TrimRight(site, "/") + "/Documents", "driveType": "business", "name": "OneDrive"}, selected)
	drive["@odata.context"] = c.context("drives/$entity")
	return odata.OK(drive)
}

// driveProperties are the properties of a drive simulated here.
var driveProperties = map[string]property{"id": {standard: true}, "webUrl": {standard: true}, "driveType": {standard: true}, "name": {standard: true}}
