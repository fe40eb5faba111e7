// Package groups carries out the functions that create groups of Entra ID and change their owners. It makes requests
// through the client of package graph.
package groups

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/matoolkit/matoolkit/worker/catalog"
	"github.com/matoolkit/matoolkit/worker/graph"
)

// maxBound is how many owners and members Graph takes with a new group.
const maxBound = 20

// service is the groups as Graph has them.
type service struct{ graph *graph.Client }

// Functions are the catalogue's functions that this package carries out.
func Functions(g *graph.Client) []catalog.Function {
	s := service{g}
	return []catalog.Function{
		catalog.NewEntraGroup.With(s.newGroup),
		catalog.AddEntraGroupOwner.With(s.addOwner),
		catalog.RemoveEntraGroupOwner.With(s.removeOwner),
		catalog.TestEntraGroupOwner.With(s.testOwner),
	}
}

// NewGroupResult is the result of New-EntraGroup.
type NewGroupResult struct {
	GroupID      string `json:"GroupId"`
	ID           string `json:"Id"`
	MailNickname string `json:"MailNickname"`
}

// compared are the properties that a group must have to be the result of an earlier attempt, if they are given.
var compared = []string{"displayName", "description", "visibility", "mailEnabled", "securityEnabled", "groupTypes"}

func (s service) newGroup(ctx context.Context, p catalog.Params) (any, error) {
	wanted, err := properties(p)
	if err != nil {
		return nil, err
	}
	body := map[string]any{}
	for name, value := range wanted {
		body[name] = value
	}
	bound := 0
	for _, name := range []string{"Owners", "Members"} {
		links, err := s.links(name, p.List(name))
		if err != nil {
			return nil, err
		}
		if bound += len(links); len(links) > 0 {
			body[strings.ToLower(name)+"@odata.bind"] = links
		}
	}
	if bound > maxBound {
		return nil, wrong(fmt.Sprintf("Owners and Members have %d entries, and Graph takes %d with a new group; add the others with Add-EntraGroupOwner and Add-EntraGroupMember", bound, maxBound))
	}

	var taken error
	look, found := look(wanted)
	answer, err := catalog.Unless(ctx, func(wait catalog.Waiting) (catalog.Shown, error) { return s.graph.Look(ctx, look, wait) }, func() (bool, error) {
		uncertain, err := s.graph.Write(ctx, http.MethodPost, "/v1.0/groups", body)
		if said(err, "another object with the same value for property mailNickname") {
			taken = err
			return false, nil // it may be a group that reads do not show yet
		}
		return uncertain, err
	}, "the group was created, but Graph does not show it")
	if err != nil && taken != nil && !*found {
		return nil, taken
	}
	return answer, err
}

// properties are those of the new group.
func properties(p catalog.Params) (map[string]any, error) {
	nickname := p.String("MailNickname")
	odd := func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune(`@()\[]";:<>,`, r) }
	if len(nickname) > 64 || strings.ContainsFunc(nickname, odd) {
		return nil, wrong(fmt.Sprintf("invalid MailNickname %q: use at most 64 characters of ASCII, without @ ( ) \\ [ ] \" ; : < > , and spaces", nickname))
	}
	unified := cmp.Or(p.String("Type"), "Microsoft365") == "Microsoft365"
	all := map[string]any{
		"displayName": p.String("DisplayName"), "mailNickname": nickname,
		"mailEnabled": unified, "securityEnabled": !unified, "groupTypes": []string{},
	}
	if text := p.String("Description"); text != "" {
		all["description"] = text
	}
	switch {
	case unified:
		all["groupTypes"] = []string{"Unified"}
		all["visibility"] = cmp.Or(p.String("Visibility"), "Private")
	case p.Has("Visibility"):
		return nil, wrong("Visibility is of Microsoft 365 groups only: leave it out, or set Type to Microsoft365")
	}
	return all, nil
}

// links are references to users.
func (s service) links(name string, ids []string) (links []string, err error) {
	for _, id := range ids {
		parsed, err := uuid.Parse(id)
		if err != nil || len(id) != 36 {
			return nil, wrong(fmt.Sprintf("%s has %q: use the object ids of users", name, id))
		}
		if link := s.graph.URL("/v1.0/users/" + parsed.String()); !slices.Contains(links, link) {
			links = append(links, link)
		}
	}
	return links, nil
}

// look finds the group by its mailNickname, and compares it. found tells whether any group has the mailNickname.
func look(wanted map[string]any) (l graph.Look, found *bool) {
	found = new(bool)
	nickname := wanted["mailNickname"].(string)
	filter := url.QueryEscape("mailNickname eq '" + strings.ReplaceAll(nickname, "'", "''") + "'")
	l.Path = "/v1.0/groups?$filter=" + filter + "&$select=id,mailNickname," + strings.Join(compared, ",")
	l.Shows = func(object map[string]any) (catalog.Shown, bool, error) {
		groups, _ := object["value"].([]any)
		*found = len(groups) > 0
		switch len(groups) {
		case 0:
			return catalog.Shown{Reason: "no group has the mailNickname " + nickname}, false, nil
		case 1:
		default:
			return catalog.Shown{}, false, conflict(fmt.Sprintf("%d groups have the mailNickname %s: use another one, or delete those that are not needed", len(groups), nickname))
		}
		group, _ := groups[0].(map[string]any)
		if differ := differences(wanted, group); len(differ) > 0 {
			return catalog.Shown{}, false, conflict("a group with this mailNickname exists and differs in: " + strings.Join(differ, ", "))
		}
		id, _ := group["id"].(string)
		alias, _ := group["mailNickname"].(string)
		return catalog.Shown{Met: true, Answer: NewGroupResult{id, id, alias}}, false, nil
	}
	return l, found
}

// differences are the names of the wanted properties that the group has otherwise.
func differences(wanted, group map[string]any) (names []string) {
	for _, name := range compared {
		value, given := wanted[name]
		if !given {
			continue
		}
		have := group[name]
		if kinds, ok := value.([]string); ok {
			list, _ := have.([]any)
			// A dynamic group is another one, although it may be a Microsoft 365 group, too.
			have, value = fmt.Sprint(list), fmt.Sprint(kinds)
		}
		if have != value {
			names = append(names, name)
		}
	}
	return names
}

// said tells whether err is a failure whose message holds the text.
func said(err error, text string) bool {
	var f *catalog.Failure
	return errors.As(err, &f) && strings.Contains(strings.ToLower(f.Message), strings.ToLower(text))
}

// missing tells whether err says that an object does not exist.
func missing(err error) bool {
	var f *catalog.Failure
	return errors.As(err, &f) && f.Type == "Request_ResourceNotFound"
}

func wrong(text string) error {
	return &catalog.Failure{Type: catalog.FailureParameters, Message: text}
}

func conflict(text string) error {
	return &catalog.Failure{Type: catalog.FailureConflict, Message: text, Attempts: 1}
}
