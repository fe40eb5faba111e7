package tenant

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
)

// Seed is state put in from outside, visible at once. Ids may be left out.
// A user or group whose id, user principal name or nickname exists already is
// left as it is, so the same seed may be given again.
type Seed struct {
	VerifiedDomains []string    `json:"verifiedDomains,omitempty"` // of user principal names; none: all are accepted
	Licenses        []License   `json:"licenses,omitempty"`
	Users           []User      `json:"users,omitempty"` // Graph properties, read-only ones too
	Groups          []SeedGroup `json:"groups,omitempty"`
	Recipients      []Recipient `json:"recipients,omitempty"` // ExternalDirectoryObjectId or UserPrincipalName names the user
}

// SeedGroup is a group with its members by object id or user principal name. A
// group that is mailEnabled and not Unified also becomes a recipient.
type SeedGroup struct {
	Properties map[string]any `json:"properties"`
	Members    []string       `json:"members,omitempty"`
}

// Seed puts objects in. After an error some of them may be in; giving the
// mended seed again completes it.
func (s *Server) Seed(seed Seed) error {
	s.dir.mu.Lock()
	defer s.dir.mu.Unlock()
	if s.dir.disk != nil {
		if err := s.dir.disk.saveDomains(seed.VerifiedDomains); err != nil {
			return err
		}
	}
	for _, domain := range seed.VerifiedDomains {
		s.dir.domain[fold(domain)] = true
	}
	for i, l := range seed.Licenses {
		if err := s.seedLicense(l); err != nil {
			return fmt.Errorf("tenant: seed license %d: %w", i, err)
		}
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
