package directory

import (
	"strings"
	"time"
)

// ZeroGUID is printed by Exchange for no GUID.
const ZeroGUID = "00000000-0000-0000-0000-000000000000"

// The recipient kinds simulated here, as RecipientTypeDetails names them.
const (
	MailUser            = "MailUser"
	UserMailbox         = "UserMailbox"
	MailContact         = "MailContact" // the one kind without a user or group
	DistributionGroup   = "MailUniversalDistributionGroup"
	MailEnabledSecurity = "MailUniversalSecurityGroup"
	GroupMailbox        = "GroupMailbox" // a Microsoft 365 group
	// DisconnectedMailbox is the rest of a mailbox without licence. No cmdlet shows it.
	DisconnectedMailbox = "DisconnectedMailbox"
)

// KeptDisconnected is how long a licence gives a disconnected mailbox back.
const KeptDisconnected = 30 * 24 * time.Hour

// Recipient is the Exchange side of a user or of a mail-enabled group.
type Recipient struct {
	Kind                      string            `json:"RecipientTypeDetails"`
	GUID                      string            `json:"Guid"`
	ExternalDirectoryObjectID string            `json:"ExternalDirectoryObjectId"`
	Name                      string            `json:"Name"`
	DisplayName               string            `json:"DisplayName"`
	Alias                     string            `json:"Alias"`
	UserPrincipalName         string            `json:"UserPrincipalName,omitempty"`
	EmailAddresses            []string          `json:"EmailAddresses"` // one "SMTP:" primary, others "smtp:", "X500:", …
	ExternalEmailAddress      string            `json:"ExternalEmailAddress,omitempty"`
	ExchangeGUID              string            `json:"ExchangeGuid,omitempty"`
	ArchiveGUID               string            `json:"ArchiveGuid,omitempty"`
	LegacyDN                  string            `json:"LegacyExchangeDN,omitempty"` // empty: one that is made of the Guid and the alias
	Hidden                    bool              `json:"HiddenFromAddressListsEnabled"`
	ForwardingSMTP            string            `json:"ForwardingSmtpAddress,omitempty"` // of mailboxes, without prefix
	ForwardingAddress         string            `json:"ForwardingAddress,omitempty"`     // of mailboxes: the name of a recipient
	KeepsForwarded            bool              `json:"DeliverToMailboxAndForward,omitempty"`
	Custom                    map[string]string `json:"CustomAttributes,omitempty"` // CustomAttribute1 … CustomAttribute15

	// Of mailboxes only.
	MailboxType    string             `json:"MailboxType,omitempty"` // Shared, Room or Equipment; empty: Regular
	AutoReply      *AutoReply         `json:"AutoReply,omitempty"`
	Holds          *Holds             `json:"Holds,omitempty"`
	FullAccess     []string           `json:"FullAccess,omitempty"`     // object ids, as in SendAs and SendOnBehalf
	CalendarFolder string             `json:"CalendarFolder,omitempty"` // its name; empty: Calendar
	Calendar       []FolderPermission `json:"Calendar,omitempty"`       // beside those of Default and Anonymous that are as in a new mailbox
	AutoExpanding  bool               `json:"AutoExpandingArchiveEnabled,omitempty"`
	Disconnected   time.Time          `json:"WhenSoftDeleted,omitzero"` // of a DisconnectedMailbox

	// Of mailboxes and groups.
	SendAs       []string `json:"SendAs,omitempty"`
	SendOnBehalf []string `json:"SendOnBehalf,omitempty"`

	// Of groups only.
	ManagedBy            []string `json:"ManagedBy,omitempty"` // object ids of owners; those of a Microsoft 365 group are in Entra ID
	AllowExternalSenders bool     `json:"AllowExternalSenders,omitempty"`
}

// AutoReply is the automatic reply of a mailbox.
type AutoReply struct {
	State            string `json:"AutoReplyState"` // Enabled, Disabled or Scheduled
	InternalMessage  string `json:"InternalMessage"`
	ExternalMessage  string `json:"ExternalMessage"`
	ExternalAudience string `json:"ExternalAudience"` // None, Known or All
	StartTime        string `json:"StartTime,omitempty"`
	EndTime          string `json:"EndTime,omitempty"`
}

// Holds keep the content of a mailbox.
type Holds struct {
	Litigation    bool     `json:"LitigationHoldEnabled,omitempty"`
	InPlace       []string `json:"InPlaceHolds,omitempty"`
	ComplianceTag bool     `json:"ComplianceTagHoldApplied,omitempty"`
	Delay         bool     `json:"DelayHoldApplied,omitempty"`
	DelayRelease  bool     `json:"DelayReleaseHoldApplied,omitempty"`
}

// FolderPermission is a user's access rights to a folder of a mailbox.
type FolderPermission struct {
	User         string   `json:"User"` // object id, Default or Anonymous
	AccessRights []string `json:"AccessRights"`
}

// Primary is the primary SMTP address without its prefix.
func (r Recipient) Primary() string { return PrimaryOf(r.EmailAddresses) }

// LegacyExchangeDN is the address that mails within Exchange have.
func (r Recipient) LegacyExchangeDN() string {
	if r.LegacyDN != "" {
		return r.LegacyDN
	}
	return "/o=ExchangeLabs/ou=Exchange Administrative Group (FYDIBOHF23SPDLT)/cn=Recipients/cn=" + strings.ReplaceAll(r.GUID, "-", "") + "-" + r.Alias
}

// IsGroup tells whether the recipient is the Exchange side of a group.
func (r Recipient) IsGroup() bool {
	return r.Kind == DistributionGroup || r.Kind == MailEnabledSecurity || r.Kind == GroupMailbox
}

// Type is the kind without its details: Exchange prints a Microsoft 365 group as a distribution group.
func (r Recipient) Type() string {
	if r.Kind == GroupMailbox {
		return DistributionGroup
	}
	return r.Kind
}

// PrimaryOf is the primary SMTP address of a list of addresses, without its prefix.
func PrimaryOf(addresses []string) string {
	for _, a := range addresses {
		if rest, ok := strings.CutPrefix(a, "SMTP:"); ok {
			return rest
		}
	}
	return ""
}

// OrZero is a GUID as Exchange prints it, where there may be none.
func OrZero(guid string) string {
	if guid == "" {
		return ZeroGUID
	}
	return guid
}
