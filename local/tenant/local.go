package tenant

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
)

// State is everything in the tenant, in order of creation.
type State struct {
	TenantID   string      `json:"tenantId"`
	Users      []User      `json:"users"`
	Groups     []Group     `json:"groups"`
	Recipients []Recipient `json:"recipients"`
}

// Seed is state put in from outside, visible at once. Ids may be left out.
// A user or group whose id, user principal name or nickname exists already is
// left as it is, so the same seed may be given again.
type Seed struct {
	VerifiedDomains []string    `json:"verifiedDomains,omitempty"` // of user principal names; none: all are accepted
	Users           []User      `json:"users,omitempty"`           // Graph properties, read-only ones too
	Groups          []SeedGroup `json:"groups,omitempty"`
	Recipients      []Recipient `json:"recipients,omitempty"` // ExternalDirectoryObjectId or UserPrincipalName names the user
}

// SeedGroup is a group with its members by object id or user principal name. A
// group that is mailEnabled and not Unified also becomes a recipient.
type SeedGroup struct {
	Properties map[string]any `json:"properties"`
	Members    []string       `json:"members,omitempty"`
}

// State is the latest state, whatever the replication lag.
func (s *Server) State() State {
	s.dir.mu.Lock()
	defer s.dir.mu.Unlock()
	return State{
		TenantID:   s.cfg.TenantID,
		Users:      s.dir.users.all((*history[User]).latest),
		Groups:     s.dir.groups.all((*history[Group]).latest),
		Recipients: s.dir.recipients.all((*history[Recipient]).latest),
	}
}

// Seed puts objects in. After an error some of them may be in; giving the
// mended seed again completes it.
func (s *Server) Seed(seed Seed) error {
	s.dir.mu.Lock()
	defer s.dir.mu.Unlock()
	for _, domain := range seed.VerifiedDomains {
		s.dir.domain[fold(domain)] = true
	}
	for i, u := range seed.Users {
		if err := s.seedUser(u); err != nil {
			return fmt.Errorf("tenant: seed user %d: %w", i, err)
		}
	}
	for i, g := range seed.Groups {
		if err := s.seedGroup(g); err != nil {
			return fmt.Errorf("tenant: seed group %d: %w", i, err)
		}
	}
	for i, r := range seed.Recipients {
		if err := s.seedRecipient(r); err != nil {
			return fmt.Errorf("tenant: seed recipient %d: %w", i, err)
		}
	}
	return nil
}

func (s *Server) seedUser(seeded User) error {
	u := seeded.with(nil)
	for name := range u {
		if _, known := userProperties[name]; !known {
			return fmt.Errorf("unknown property %q", name)
		}
	}
	if _, exists := s.dir.owner("upn", u.UPN()); exists {
		return nil
	}
	if u.ID() == "" {
		u["id"] = uuid.NewString()
	}
	u["id"] = fold(u.ID())
	if _, exists := s.dir.users.rows[u.ID()].latest(); exists {
		return nil
	}
	delete(u, "passwordProfile")
	if u.Text("mailNickname") == "" {
		u["mailNickname"], _, _ = strings.Cut(u.UPN(), "@")
	}
	if u.Text("displayName") == "" {
		u["displayName"] = u.Text("mailNickname")
	}
	if _, set := u["accountEnabled"]; !set {
		u["accountEnabled"] = true
	}
	if u.Text("userType") == "" {
		u["userType"] = "Member"
	}
	if mail := u.Text("mail"); mail != "" {
		u["proxyAddresses"] = withPrimary(u.List("proxyAddresses"), mail)
	}
	if refusal := s.checkUser(u); refusal != nil {
		return errors.New(refusal.fault.message)
	}
	changes := append([]change{putUser(u, time.Time{})}, s.forwardSync(u, time.Time{})...)
	for i := range changes {
		changes[i].at = time.Time{}
	}
	return s.dir.commit(time.Time{}, changes...)
}

func (s *Server) seedGroup(seeded SeedGroup) error {
	g := Group{Properties: User(seeded.Properties).with(nil)}
	if g.Properties == nil {
		return errors.New("no properties")
	}
	for name := range g.Properties {
		if _, known := groupProperties[name]; !known {
			return fmt.Errorf("unknown property %q", name)
		}
	}
	nickname := text(g.Properties["mailNickname"])
	if nickname == "" {
		return errors.New("mailNickname is empty")
	}
	if _, exists := s.dir.owner("groupNickname", nickname); exists {
		return nil
	}
	if g.ID() == "" {
		g.Properties["id"] = uuid.NewString()
	}
	g.Properties["id"] = fold(g.ID())
	if text(g.Properties["displayName"]) == "" {
		g.Properties["displayName"] = nickname
	}
	for _, key := range seeded.Members {
		id := fold(key)
		if owner, found := s.dir.owner("upn", key); found {
			id = owner
		}
		_, isUser := s.dir.users.rows[id].latest()
		_, isGroup := s.dir.groups.rows[id].latest()
		if !isUser && !isGroup {
			return fmt.Errorf("member %q does not exist", key)
		}
		if !slices.Contains(g.Members, id) {
			g.Members = append(g.Members, id)
		}
	}
	changes := []change{putGroup(g, time.Time{})}
	if g.exchangeManaged() {
		r, err := s.groupRecipient(g)
		if err != nil {
			return err
		}
		changes = append(changes, putRecipient(r, time.Time{}))
	}
	return s.dir.commit(time.Time{}, changes...)
}

func (s *Server) groupRecipient(g Group) (Recipient, error) {
	mail := text(g.Properties["mail"])
	if !addressPattern.MatchString(mail) {
		return Recipient{}, fmt.Errorf("mail %q of a mail-enabled group is not an address", mail)
	}
	addresses := withPrimary(texts(g.Properties["proxyAddresses"]), mail)
	g.Properties["proxyAddresses"] = addresses
	for _, a := range addresses {
		if s.dir.taken("proxy", a, g.ID()) {
			return Recipient{}, fmt.Errorf("address %q is taken", a)
		}
	}
	kind := DistributionGroup
	if g.Properties["securityEnabled"] == true {
		kind = MailEnabledSecurity
	}
	name := text(g.Properties["displayName"])
	return Recipient{
		Kind: kind, GUID: uuid.NewString(), ExternalDirectoryObjectID: g.ID(), Name: name, DisplayName: name,
		Alias: text(g.Properties["mailNickname"]), EmailAddresses: addresses,
	}, nil
}

func (s *Server) seedRecipient(r Recipient) error {
	if owner, found := s.dir.owner("upn", r.UserPrincipalName); r.ExternalDirectoryObjectID == "" && found {
		r.ExternalDirectoryObjectID = owner
	}
	r.ExternalDirectoryObjectID = fold(r.ExternalDirectoryObjectID)
	u, found := s.dir.users.rows[r.ExternalDirectoryObjectID].latest()
	if !found {
		return fmt.Errorf("user %q%q does not exist", r.ExternalDirectoryObjectID, r.UserPrincipalName)
	}
	if _, exists := s.dir.recipients.rows[u.ID()].latest(); exists {
		return nil
	}
	if r.Kind != MailUser && r.Kind != UserMailbox {
		return fmt.Errorf("RecipientTypeDetails %q is neither %s nor %s", r.Kind, MailUser, UserMailbox)
	}
	r.UserPrincipalName, r.DisplayName = u.UPN(), u.Text("displayName")
	if r.GUID == "" {
		r.GUID = uuid.NewString()
	}
	if r.Name == "" {
		r.Name = u.ID()
	}
	if r.Alias == "" {
		r.Alias = u.Text("mailNickname")
	}
	if len(r.EmailAddresses) == 0 {
		r.EmailAddresses = withPrimary(u.List("proxyAddresses"), u.Text("mail"))
	}
	if refusal := s.checkRecipient(r); refusal != nil {
		return errors.New(refusal.fault.message)
	}
	return s.dir.commit(time.Time{}, append([]change{putRecipient(r, time.Time{})}, s.backSync(r, time.Time{})...)...)
}

// counters count the requests of each operation by status; 0 stands for a
// dropped connection.
type counters struct {
	mu  sync.Mutex
	ops map[string]map[int]int
}

func (k *counters) count(op string, status int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.ops == nil {
		k.ops = map[string]map[int]int{}
	}
	if k.ops[op] == nil {
		k.ops[op] = map[int]int{}
	}
	k.ops[op][status]++
}

// Requests is how often each operation was asked for, by answered status; 0
// stands for a dropped connection.
func (s *Server) Requests() map[string]map[int]int {
	s.counters.mu.Lock()
	defer s.counters.mu.Unlock()
	out := map[string]map[int]int{}
	for op, statuses := range s.counters.ops {
		out[op] = map[int]int{}
		for status, n := range statuses {
			out[op][status] = n
		}
	}
	return out
}

// serveLocal is the local admin endpoint. It has no sign-in: it is on loopback
// and a browser cannot use it across origins, because every write needs a JSON
// content type.
func (s *Server) serveLocal(w http.ResponseWriter, r *http.Request, path []string) {
	respond := func(status int, body any) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		if body != nil {
			json.NewEncoder(w).Encode(body)
		}
	}
	fail := func(status int, err error) { respond(status, map[string]string{"error": err.Error()}) }
	decode := func(into any) bool {
		if r.Header.Get("Content-Type") != "application/json" {
			fail(http.StatusUnsupportedMediaType, errors.New("tenant: Content-Type is not application/json"))
			return false
		}
		body, err := readBody(r)
		if err == nil {
			decoder := json.NewDecoder(bytes.NewReader(body))
			decoder.DisallowUnknownFields()
			err = decoder.Decode(into)
		}
		if err != nil {
			fail(http.StatusBadRequest, fmt.Errorf("tenant: request body: %w", err))
		}
		return err == nil
	}
	switch r.Method + " " + strings.Join(path, "/") {
	case "GET state":
		respond(http.StatusOK, s.State())
	case "GET requests":
		respond(http.StatusOK, s.Requests())
	case "POST seed":
		var seed Seed
		if !decode(&seed) {
			return
		}
		if err := s.Seed(seed); err != nil {
			fail(http.StatusBadRequest, err)
			return
		}
		respond(http.StatusNoContent, nil)
	case "PUT faults":
		var faults Faults
		if !decode(&faults) {
			return
		}
		if err := s.SetFaults(faults); err != nil {
			fail(http.StatusBadRequest, err)
			return
		}
		respond(http.StatusNoContent, nil)
	default:
		fail(http.StatusNotFound, fmt.Errorf("tenant: no local endpoint %s %s", r.Method, r.URL.Path))
	}
}
