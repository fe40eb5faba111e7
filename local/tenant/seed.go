package tenant

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/matoolkit/matoolkit/local/tenant/directory"
	"github.com/matoolkit/matoolkit/local/tenant/graph"
)

// Seed is state put in from outside, visible at once. Ids may be left out.
// A user or group whose id, user principal name or nickname exists already is
// left as it is, so the same seed may be given again.
// Security groups with ids of their own can share a nickname.
type Seed struct {
	VerifiedDomains []string  `json:"verifiedDomains,omitempty"` // of user principal names; none: all are accepted
	Licenses        []License `json:"licenses,omitempty"`
	Sites           []Site    `json:"sites,omitempty"` // a site takes the place of the one with its URL
	Users           []User    `json:"users,omitempty"` // Graph properties, read-only ones too
	// DeletedUsers are in the deleted items, and take the place of those with their ids.
	DeletedUsers []User      `json:"deletedUsers,omitempty"`
	Groups       []SeedGroup `json:"groups,omitempty"`
	Recipients   []Recipient `json:"recipients,omitempty"` // ExternalDirectoryObjectId or UserPrincipalName names the user, which contacts do not have
	// OrganizationHolds are retention policies of all mailboxes, such as mbx7cfb30345d454ac0a989ab3041051209:2.
	OrganizationHolds []string `json:"organizationHolds,omitempty"`
	// MigrationEndpoints are the names of endpoints in other tenants, which administrators create; none: all names are accepted.
	MigrationEndpoints []string         `json:"migrationEndpoints,omitempty"`
	MigrationBatches   []MigrationBatch `json:"migrationBatches,omitempty"` // left as they are where the name exists
	// Policies are of Conditional Access, with an id each, and are left as they are where it exists.
	Policies      []Policy       `json:"policies,omitempty"`
	ContentTasks  []ContentTask  `json:"contentTasks,omitempty"`  // left as they are where the source has one
	MigrationJobs []MigrationJob `json:"migrationJobs,omitempty"` // left as they are where the name exists
}

// ParseSeed parses a seed in JSON and refuses what it does not know.
func ParseSeed(text []byte) (Seed, error) {
	var seed Seed
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&seed); err != nil {
		return seed, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return seed, errors.New("more than one JSON value")
	}
	return seed, nil
}

// SeedGroup is a group with its members by object id or user principal name. A
// group that is mailEnabled also becomes a recipient.
type SeedGroup struct {
	Properties map[string]any `json:"properties"`
	Members    []string       `json:"members,omitempty"`
	Owners     []string       `json:"owners,omitempty"` // those of a team are also among the members
	// SendAs and SendOnBehalf are the object ids of those who can send as a mail-enabled group, or on its behalf.
	SendAs       []string `json:"sendAs,omitempty"`
	SendOnBehalf []string `json:"sendOnBehalf,omitempty"`
	// Recipient has what Exchange knows of a mail-enabled group. Its kind, id and addresses are those of the group, and
	// empty names those that a new group has.
	Recipient *Recipient `json:"recipient,omitempty"`
}

// Seed puts objects in. After an error some of them may be in; giving the
// mended seed again completes it.
func (s *Server) Seed(seed Seed) error {
	s.dir.Lock()
	defer s.dir.Unlock()
	if err := s.dir.AddDomains(seed.VerifiedDomains...); err != nil {
		return err
	}
	if err := s.dir.AddOrganizationHolds(seed.OrganizationHolds...); err != nil {
		return err
	}
	if err := s.dir.AddMigrationEndpoints(seed.MigrationEndpoints...); err != nil {
		return err
	}
	for i, l := range seed.Licenses {
		if err := s.dir.AddLicense(l); err != nil {
			return fmt.Errorf("tenant: seed license %d: %w", i, err)
		}
	}
	for i, site := range seed.Sites {
		if err := s.dir.AddSite(site); err != nil {
			return fmt.Errorf("tenant: seed site %d: %w", i, err)
		}
	}
	for i, u := range seed.Users {
		if err := s.seedUser(u.With(nil)); err != nil {
			return fmt.Errorf("tenant: seed user %d: %w", i, err)
		}
	}
	for i, u := range seed.DeletedUsers {
		if err := s.seedDeleted(u); err != nil {
			return fmt.Errorf("tenant: seed deleted user %d: %w", i, err)
		}
	}
	groups := map[string]bool{} // members that may come later
	for _, g := range seed.Groups {
		groups[directory.Fold(directory.Text(g.Properties["id"]))] = true
	}
	for i, g := range seed.Groups {
		if err := s.seedGroup(g, groups); err != nil {
			return fmt.Errorf("tenant: seed group %d: %w", i, err)
		}
	}
	for i, r := range seed.Recipients {
		if err := s.seedRecipient(r); err != nil {
			return fmt.Errorf("tenant: seed recipient %d: %w", i, err)
		}
	}
	for i, b := range seed.MigrationBatches {
		if err := s.seedBatch(b); err != nil {
			return fmt.Errorf("tenant: seed migration batch %d: %w", i, err)
		}
	}
	for i, p := range seed.Policies {
		if err := s.seedPolicy(p); err != nil {
			return fmt.Errorf("tenant: seed policy %d: %w", i, err)
		}
	}
	for i, t := range seed.ContentTasks {
		if t.ID == "" || t.Source == "" {
			return fmt.Errorf("tenant: seed content task %d: a task needs an id and a source, such as onedrive ada@contoso.example", i)
		}
		if _, exists := s.dir.Contents.Latest(directory.Fold(t.Source)); exists {
			continue
		}
		if err := s.dir.Commit(time.Time{}, directory.PutContentTask(t, time.Time{})); err != nil {
			return err
		}
	}
	for i, j := range seed.MigrationJobs {
		if j.ID == "" || j.Name == "" || len(j.Users) == 0 {
			return fmt.Errorf("tenant: seed migration job %d: a job needs an id, a name and people", i)
		}
		if _, exists := s.dir.Jobs.Latest(directory.Fold(j.Name)); exists {
			continue
		}
		if err := s.dir.Commit(time.Time{}, directory.PutMigrationJob(j, time.Time{})); err != nil {
			return err
		}
	}
	return nil
}

func (s *Server) seedDeleted(u User) error {
	if u.ID() == "" || u.Text("deletedDateTime") == "" {
		return errors.New("a deleted user needs an id and a deletedDateTime")
	}
	return s.dir.KeepDeleted(u.With(map[string]any{"id": directory.Fold(u.ID())}))
}

func (s *Server) seedPolicy(p Policy) error {
	if p.ID() == "" {
		return errors.New("no id")
	}
	for name := range p {
		if !graph.KnownPolicyProperty(name) {
			return fmt.Errorf("unknown property %q", name)
		}
	}
	if _, exists := s.dir.Policies.Latest(directory.Fold(p.ID())); exists {
		return nil
	}
	return s.dir.Commit(time.Time{}, directory.PutPolicy(p, time.Time{}))
}

// seedUser puts a user in, whom it may change.
func (s *Server) seedUser(u User) error {
	for name := range u {
		if !graph.KnownUserProperty(name) {
			return fmt.Errorf("unknown property %q", name)
		}
	}
	if _, exists := s.dir.Owner("upn", u.UPN()); exists {
		return nil
	}
	if u.ID() == "" {
		u["id"] = uuid.NewString()
	}
	u["id"] = directory.Fold(u.ID())
	if _, exists := s.dir.Users.Latest(u.ID()); exists {
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
		u["proxyAddresses"] = directory.WithPrimary(u.List("proxyAddresses"), mail)
	}
	if err := s.dir.CheckForm(u); err != nil {
		return err
	}
	if err := s.conflict("the user "+u.UPN(), s.dir.CheckUnique(u)); err != nil {
		return err
	}
	return s.dir.Commit(time.Time{}, append([]directory.Change{directory.PutUser(u, time.Time{})}, s.dir.ForwardSync(u, time.Time{})...)...)
}

func (s *Server) seedGroup(seeded SeedGroup, more map[string]bool) error {
	g := Group{Properties: User(seeded.Properties).With(nil)}
	if g.Properties == nil {
		return errors.New("no properties")
	}
	for name := range g.Properties {
		if !graph.KnownGroupProperty(name) {
			return fmt.Errorf("unknown property %q", name)
		}
	}
	nickname := directory.Text(g.Properties["mailNickname"])
	if nickname == "" && s.loading && g.Properties["mailEnabled"] != true {
		nickname = g.ID() // a group that is synchronized from on-premises need not have one
	}
	if nickname == "" {
		return errors.New("mailNickname is empty")
	}
	// Groups of a real tenant can share a nickname. Each has an id.
	if owner, exists := s.dir.Owner("groupNickname", nickname); exists {
		switch other := owner != directory.Fold(g.ID()); {
		case g.ID() == "", !other, g.Properties["mailEnabled"] == true && !s.loading:
			return nil
		case g.Properties["mailEnabled"] == true:
			_ = s.conflict(groupText(g), fmt.Errorf("its nickname %s is that of the group %s, too", nickname, owner))
		}
	}
	if _, exists := s.dir.Groups.Latest(directory.Fold(g.ID())); exists {
		return nil
	}
	if g.ID() == "" {
		g.Properties["id"] = uuid.NewString()
	}
	g.Properties["id"] = directory.Fold(g.ID())
	if directory.Text(g.Properties["displayName"]) == "" {
		g.Properties["displayName"] = nickname
	}
	for _, list := range []struct {
		what string
		keys []string
		into *[]string
	}{{"member", seeded.Members, &g.Members}, {"owner", seeded.Owners, &g.Owners}} {
		seen := map[string]bool{}
		for _, key := range list.keys {
			id := directory.Fold(key)
			if owner, found := s.dir.Owner("upn", key); found {
				id = owner
			}
			_, isUser := s.dir.Users.Latest(id)
			_, isGroup := s.dir.Groups.Latest(id)
			if !isUser && !isGroup && !more[id] {
				if err := s.conflict(groupText(g), fmt.Errorf("%s %q does not exist", list.what, key)); err != nil {
					return err
				}
				continue
			}
			if !seen[id] {
				*list.into = append(*list.into, id)
				seen[id] = true
			}
		}
	}
	// Graph lets a group have owners who are no members.
	if team := slices.Contains(directory.Texts(g.Properties["resourceProvisioningOptions"]), "Team"); team && !s.loading &&
		slices.ContainsFunc(g.Owners, func(id string) bool { return !slices.Contains(g.Members, id) }) {
		return errors.New("an owner of the team is not among the members")
	}
	if g.Properties["mailEnabled"] != true {
		return s.dir.Commit(time.Time{}, directory.PutGroup(g, time.Time{}))
	}
	g, r, err := s.dir.WithMail(g)
	if err != nil {
		return err
	}
	if seeded.Recipient != nil {
		r = known(*seeded.Recipient, r)
	}
	r.SendAs, r.SendOnBehalf = seeded.SendAs, seeded.SendOnBehalf
	if err := s.checkRecipient(r); err != nil {
		return err
	}
	return s.dir.Commit(time.Time{}, directory.PutGroup(g, time.Time{}), directory.PutRecipient(r, time.Time{}))
}

// known is the recipient of a group, with what the seed has of it.
func known(r, made Recipient) Recipient {
	r.Kind, r.ExternalDirectoryObjectID, r.EmailAddresses = made.Kind, made.ExternalDirectoryObjectID, made.EmailAddresses
	r.GUID, r.Name = cmp.Or(r.GUID, made.GUID), cmp.Or(r.Name, made.Name)
	r.DisplayName, r.Alias = cmp.Or(r.DisplayName, made.DisplayName), cmp.Or(r.Alias, made.Alias)
	return r
}

// seedContact adds a recipient that has no user.
func (s *Server) seedContact(r Recipient) error {
	if r.Name == "" || r.ExternalEmailAddress == "" || r.ExternalDirectoryObjectID == "" {
		return errors.New("a mail contact needs a name, an external address and an ExternalDirectoryObjectId")
	}
	r.ExternalDirectoryObjectID = directory.Fold(r.ExternalDirectoryObjectID)
	if _, exists := s.dir.Recipients.Latest(r.ExternalDirectoryObjectID); exists {
		return nil
	}
	if r.GUID == "" {
		r.GUID = uuid.NewString()
	}
	r.EmailAddresses = directory.WithPrimary(r.EmailAddresses, r.ExternalEmailAddress)
	if err := s.checkRecipient(r); err != nil {
		return err
	}
	return s.dir.Commit(time.Time{}, directory.PutRecipient(r, time.Time{}))
}

func (s *Server) seedRecipient(r Recipient) error {
	if r.Kind == MailContact {
		return s.seedContact(r)
	}
	if owner, found := s.dir.Owner("upn", r.UserPrincipalName); r.ExternalDirectoryObjectID == "" && found {
		r.ExternalDirectoryObjectID = owner
	}
	r.ExternalDirectoryObjectID = directory.Fold(r.ExternalDirectoryObjectID)
	u, found := s.dir.Users.Latest(r.ExternalDirectoryObjectID)
	if !found {
		return s.conflict(recipientText(r), fmt.Errorf("user %q does not exist", cmp.Or(r.ExternalDirectoryObjectID, r.UserPrincipalName)))
	}
	if _, exists := s.dir.Recipients.Latest(u.ID()); exists {
		return nil
	}
	if r.Kind != MailUser && r.Kind != UserMailbox {
		return fmt.Errorf("RecipientTypeDetails %q is none of %s, %s and %s", r.Kind, MailUser, UserMailbox, MailContact)
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
		r.EmailAddresses = directory.WithPrimary(u.List("proxyAddresses"), u.Text("mail"))
	}
	if err := s.checkRecipient(r); err != nil {
		return err
	}
	return s.dir.Commit(time.Time{}, append([]directory.Change{directory.PutRecipient(r, time.Time{})}, s.dir.BackSync(r, time.Time{})...)...)
}

// checkRecipient refuses a recipient with a value that another one has.
func (s *Server) checkRecipient(r Recipient) error {
	if refusal := s.exchange.Check(r); refusal != nil {
		return s.conflict(recipientText(r), errors.New(refusal.Fault.Message))
	}
	return nil
}

func groupText(g Group) string {
	return fmt.Sprintf("the group %s (%s)", directory.Text(g.Properties["displayName"]), g.ID())
}

func recipientText(r Recipient) string {
	return fmt.Sprintf("the recipient %s (%s)", cmp.Or(r.Primary(), r.Name), r.ExternalDirectoryObjectID)
}

// conflict is the error of an object that does not go with the others: it has a value that another one has, or
// refers to one that does not exist. Real tenants have the former, and a snapshot, whose objects are not of one moment,
// the latter. A snapshot is loaded all the same, and the conflict is among the findings.
func (s *Server) conflict(object string, err error) error {
	if err == nil || !s.loading {
		return err
	}
	s.found = append(s.found, object+": "+err.Error())
	return nil
}

func (s *Server) seedBatch(b MigrationBatch) error {
	if b.Name == "" || b.SourceEndpoint == "" || b.TargetDeliveryDomain == "" || len(b.Users) == 0 {
		return errors.New("a batch needs a name, an endpoint, a domain and people")
	}
	if _, exists := s.dir.Batches.Latest(directory.Fold(b.Name)); exists {
		return nil
	}
	for i, u := range b.Users {
		b.Users[i].ID, _ = s.dir.Owner("proxy", "smtp:"+u.Email)
	}
	return s.dir.Commit(time.Time{}, directory.PutBatch(b, time.Time{}))
}
