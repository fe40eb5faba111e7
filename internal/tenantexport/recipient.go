package tenantexport

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// printed has the output of cmdlets about recipients, permissions and the organization.
type printed struct {
	Identity, Name, DisplayName, Alias, Guid, ExternalDirectoryObjectId string
	RecipientType, RecipientTypeDetails                                 string
	UserPrincipalName, WindowsLiveID, PrimarySmtpAddress                string
	EmailAddresses                                                      []string
	ExternalEmailAddress, ExchangeGuid, ArchiveGuid, LegacyExchangeDN   string
	HiddenFromAddressListsEnabled                                       bool
	ForwardingSmtpAddress, ForwardingAddress                            string
	DeliverToMailboxAndForward, AutoExpandingArchiveEnabled             bool
	GrantSendOnBehalfTo, ManagedBy                                      []string
	RequireSenderAuthenticationEnabled                                  *bool

	CustomAttribute1, CustomAttribute2, CustomAttribute3, CustomAttribute4, CustomAttribute5      string
	CustomAttribute6, CustomAttribute7, CustomAttribute8, CustomAttribute9, CustomAttribute10     string
	CustomAttribute11, CustomAttribute12, CustomAttribute13, CustomAttribute14, CustomAttribute15 string

	LitigationHoldEnabled, ComplianceTagHoldApplied, DelayHoldApplied, DelayReleaseHoldApplied bool
	InPlaceHolds                                                                               []string

	// Of permissions.
	User                   account
	Trustee                string
	AccessRights           texts
	AccessControlType      string
	Deny, IsInherited      bool
	FolderPath, FolderType string

	AutoReplyState, ExternalAudience, InternalMessage, ExternalMessage, StartTime, EndTime string
}

// account is the user of a permission: a text, or an object with an address or a name.
type account struct{ Name string }

func (a *account) UnmarshalJSON(raw []byte) error {
	if json.Unmarshal(raw, &a.Name) == nil {
		return nil
	}
	var object struct {
		DisplayName, RecipientPrincipalName string
		RecipientPrincipal                  *struct{ PrimarySmtpAddress string }
	}
	if err := json.Unmarshal(raw, &object); err != nil {
		return err
	}
	if a.Name = object.DisplayName; object.RecipientPrincipal != nil && object.RecipientPrincipal.PrimarySmtpAddress != "" {
		a.Name = object.RecipientPrincipal.PrimarySmtpAddress
	}
	return nil
}

// texts is a list, which may come as one text with commas.
type texts []string

func (t *texts) UnmarshalJSON(raw []byte) error {
	var one string
	if json.Unmarshal(raw, &one) == nil {
		for _, part := range strings.Split(one, ",") {
			if part = strings.TrimSpace(part); part != "" {
				*t = append(*t, part)
			}
		}
		return nil
	}
	return json.Unmarshal(raw, (*[]string)(t))
}

// recipient is a recipient as the seed of a local tenant has it.
type recipient struct {
	Kind                      string            `json:"RecipientTypeDetails,omitempty"`
	GUID                      string            `json:"Guid,omitempty"`
	ExternalDirectoryObjectID string            `json:"ExternalDirectoryObjectId,omitempty"`
	Name                      string            `json:"Name,omitempty"`
	DisplayName               string            `json:"DisplayName,omitempty"`
	Alias                     string            `json:"Alias,omitempty"`
	UserPrincipalName         string            `json:"UserPrincipalName,omitempty"`
	EmailAddresses            []string          `json:"EmailAddresses,omitempty"`
	ExternalEmailAddress      string            `json:"ExternalEmailAddress,omitempty"`
	ExchangeGUID              string            `json:"ExchangeGuid,omitempty"`
	ArchiveGUID               string            `json:"ArchiveGuid,omitempty"`
	LegacyDN                  string            `json:"LegacyExchangeDN,omitempty"`
	Hidden                    bool              `json:"HiddenFromAddressListsEnabled,omitempty"`
	ForwardingSMTP            string            `json:"ForwardingSmtpAddress,omitempty"`
	ForwardingAddress         string            `json:"ForwardingAddress,omitempty"`
	KeepsForwarded            bool              `json:"DeliverToMailboxAndForward,omitempty"`
	Custom                    map[string]string `json:"CustomAttributes,omitempty"`

	MailboxType    string             `json:"MailboxType,omitempty"`
	AutoReply      *autoReply         `json:"AutoReply,omitempty"`
	Holds          *holds             `json:"Holds,omitempty"`
	FullAccess     []string           `json:"FullAccess,omitempty"`
	CalendarFolder string             `json:"CalendarFolder,omitempty"`
	Calendar       []folderPermission `json:"Calendar,omitempty"`
	AutoExpanding  bool               `json:"AutoExpandingArchiveEnabled,omitempty"`

	SendAs       []string `json:"SendAs,omitempty"`
	SendOnBehalf []string `json:"SendOnBehalf,omitempty"`

	ManagedBy            []string `json:"ManagedBy,omitempty"`
	AllowExternalSenders bool     `json:"AllowExternalSenders,omitempty"`
}

type autoReply struct {
	State            string `json:"AutoReplyState"`
	InternalMessage  string `json:"InternalMessage"`
	ExternalMessage  string `json:"ExternalMessage"`
	ExternalAudience string `json:"ExternalAudience"`
	StartTime        string `json:"StartTime,omitempty"`
	EndTime          string `json:"EndTime,omitempty"`
}

type holds struct {
	Litigation    bool     `json:"LitigationHoldEnabled,omitempty"`
	InPlace       []string `json:"InPlaceHolds,omitempty"`
	ComplianceTag bool     `json:"ComplianceTagHoldApplied,omitempty"`
	Delay         bool     `json:"DelayHoldApplied,omitempty"`
	DelayRelease  bool     `json:"DelayReleaseHoldApplied,omitempty"`
}

type folderPermission struct {
	User         string   `json:"User"`
	AccessRights []string `json:"AccessRights"`
}

// kindOf is the kind of a recipient in a local tenant, with the type of a mailbox; empty for others.
func kindOf(details string) (kind, mailboxType string) {
	switch details {
	case "UserMailbox", "MailUser", "MailContact":
		return details, ""
	case "GuestMailUser": // a guest with an address
		return "MailUser", ""
	case "SharedMailbox", "RoomMailbox", "EquipmentMailbox":
		return "UserMailbox", strings.TrimSuffix(details, "Mailbox")
	}
	return "", ""
}

// recipient converts what a cmdlet printed. why says why it is left out.
func (p printed) recipient() (r *recipient, why string) {
	kind, mailboxType := kindOf(p.RecipientTypeDetails)
	switch {
	case kind == "":
		return nil, "a local tenant has no such recipients"
	case p.ExternalDirectoryObjectId == "":
		return nil, "they have no object in Entra ID"
	}
	r = p.common()
	r.Kind, r.MailboxType, r.ExternalDirectoryObjectID = kind, mailboxType, p.ExternalDirectoryObjectId
	r.EmailAddresses, r.ExternalEmailAddress = p.EmailAddresses, smtp(p.ExternalEmailAddress)
	if kind == "MailContact" {
		return r, ""
	}
	r.UserPrincipalName, r.ExchangeGUID, r.ArchiveGUID = p.UserPrincipalName, guid(p.ExchangeGuid), guid(p.ArchiveGuid)
	if kind != "UserMailbox" {
		return r, ""
	}
	r.ForwardingSMTP, r.ForwardingAddress, r.KeepsForwarded = smtp(p.ForwardingSmtpAddress), p.ForwardingAddress, p.DeliverToMailboxAndForward
	r.AutoExpanding = p.AutoExpandingArchiveEnabled
	h := holds{p.LitigationHoldEnabled, p.InPlaceHolds, p.ComplianceTagHoldApplied, p.DelayHoldApplied, p.DelayReleaseHoldApplied}
	if h.Litigation || len(h.InPlace) > 0 || h.ComplianceTag || h.Delay || h.DelayRelease {
		r.Holds = &h
	}
	return r, ""
}

// common has the properties of recipients of all kinds.
func (p printed) common() *recipient {
	r := &recipient{
		GUID: p.Guid, Name: p.Name, DisplayName: p.DisplayName, Alias: p.Alias, LegacyDN: p.LegacyExchangeDN, Hidden: p.HiddenFromAddressListsEnabled,
	}
	for i, value := range []string{
		p.CustomAttribute1, p.CustomAttribute2, p.CustomAttribute3, p.CustomAttribute4, p.CustomAttribute5, p.CustomAttribute6, p.CustomAttribute7, p.CustomAttribute8,
		p.CustomAttribute9, p.CustomAttribute10, p.CustomAttribute11, p.CustomAttribute12, p.CustomAttribute13, p.CustomAttribute14, p.CustomAttribute15,
	} {
		if value != "" {
			if r.Custom == nil {
				r.Custom = map[string]string{}
			}
			r.Custom[fmt.Sprintf("CustomAttribute%d", i+1)] = value
		}
	}
	return r
}

func smtp(address string) string {
	if kind, rest, found := strings.Cut(address, ":"); found && strings.EqualFold(kind, "smtp") {
		return rest
	}
	return address
}

func guid(text string) string {
	if text == zeroGUID {
		return ""
	}
	return text
}

// index finds recipients by the names that Exchange prints, and has what it knows of groups.
type index struct {
	byName   map[string]string   // object ids by folded name, sign-in name, address, alias and display name
	rank     map[string]int      // of the entries of byName: unique identifiers win over names
	sendAs   map[string][]string // object ids by the folded name of the recipient
	groups   map[string]printed  // by folded object id
	leaveOut func(what, why string)
}

// Ranks of identifiers. Two objects with the same one of the lowest rank are ambiguous.
const (
	uniqueRank = iota + 1
	nameRank
	displayNameRank
)

func (x *index) put(rank int, id string, keys ...string) {
	for _, key := range keys {
		key = strings.ToLower(strings.TrimSpace(key))
		if key == "" {
			continue
		}
		switch have := x.rank[key]; {
		case have == 0 || rank < have:
			x.byName[key], x.rank[key] = id, rank
		case rank == have && x.byName[key] != id:
			x.byName[key] = "" // ambiguous
		}
	}
}

// ids are the object ids of those whom Exchange prints. Others are noted as left out. It is safe for concurrent use.
func (x *index) ids(printed []string) []string {
	var ids []string
	for _, name := range printed {
		id := x.byName[strings.ToLower(strings.TrimSpace(name))]
		if id == "" {
			x.leaveOut("permissions and owners that Exchange Online prints as deleted accounts, or with names of several recipients", "the object cannot be found")
			continue
		}
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// readIndex reads all recipients, the permissions to send as them, and groups. It is not kept across a break.
func (e *export) readIndex(ctx context.Context) (*index, error) {
	x := &index{
		byName: map[string]string{}, rank: map[string]int{}, sendAs: map[string][]string{}, groups: map[string]printed{},
		leaveOut: func(what, why string) { e.out.LeaveOut("", what, why) }, // of several kinds
	}
	if err := e.each(ctx, "Get-Recipient", unlimited(), func(p printed) error {
		id := p.ExternalDirectoryObjectId
		if id == "" {
			return nil
		}
		x.put(uniqueRank, id, id, p.Guid, p.UserPrincipalName, p.WindowsLiveID, p.PrimarySmtpAddress)
		for _, address := range p.EmailAddresses {
			if plain := smtp(address); plain != address {
				x.put(uniqueRank, id, plain)
			}
		}
		x.put(nameRank, id, p.Name, p.Alias)
		x.put(displayNameRank, id, p.DisplayName)
		return nil
	}); err != nil {
		return nil, err
	}
	for _, cmdlet := range []string{"Get-DistributionGroup", "Get-UnifiedGroup"} {
		if err := e.each(ctx, cmdlet, unlimited(), func(p printed) error {
			x.groups[strings.ToLower(p.ExternalDirectoryObjectId)] = p
			return nil
		}); err != nil {
			return nil, err
		}
	}
	return x, e.each(ctx, "Get-RecipientPermission", unlimited(), func(p printed) error {
		if p.Trustee == self || p.IsInherited || p.AccessControlType == "Deny" || !slices.Contains(p.AccessRights, "SendAs") {
			return nil
		}
		name := strings.ToLower(p.Identity)
		x.sendAs[name] = append(x.sendAs[name], x.ids([]string{p.Trustee})...)
		return nil
	})
}

// complete adds to a group what Exchange knows of it.
func (x *index) complete(g *group) {
	p, exists := x.groups[strings.ToLower(text(g.Properties["id"]))]
	if !exists {
		return
	}
	g.SendAs, g.SendOnBehalf = x.sendAs[strings.ToLower(p.Name)], x.ids(p.GrantSendOnBehalfTo)
	r := p.common()
	if p.RecipientTypeDetails != "GroupMailbox" { // whose owners are in Entra ID
		r.ManagedBy = x.ids(p.ManagedBy)
	}
	r.AllowExternalSenders = p.RequireSenderAuthenticationEnabled != nil && !*p.RequireSenderAuthenticationEnabled
	g.Recipient = r
}
