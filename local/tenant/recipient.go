package tenant

import (
	"fmt"
	"strings"
)

const zeroGUID = "00000000-0000-0000-0000-000000000000"

// The recipient kinds simulated here, as RecipientTypeDetails names them.
const (
	MailUser            = "MailUser"
	UserMailbox         = "UserMailbox"
	DistributionGroup   = "MailUniversalDistributionGroup"
	MailEnabledSecurity = "MailUniversalSecurityGroup"
)

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
	Hidden                    bool              `json:"HiddenFromAddressListsEnabled"`
	ForwardingSMTP            string            `json:"ForwardingSmtpAddress,omitempty"` // of mailboxes, without prefix
	ForwardingAddress         string            `json:"ForwardingAddress,omitempty"`     // of mailboxes: the name of a recipient
	KeepsForwarded            bool              `json:"DeliverToMailboxAndForward,omitempty"`
	Custom                    map[string]string `json:"CustomAttributes,omitempty"` // CustomAttribute1 … CustomAttribute15
}

// Primary is the primary SMTP address without its prefix.
func (r Recipient) Primary() string { return primaryOf(r.EmailAddresses) }

func (r Recipient) isGroup() bool {
	return r.Kind == DistributionGroup || r.Kind == MailEnabledSecurity
}

func primaryOf(addresses []string) string {
	for _, a := range addresses {
		if rest, ok := strings.CutPrefix(a, "SMTP:"); ok {
			return rest
		}
	}
	return ""
}

// output is the recipient as the cmdlets of its family print it.
func (r Recipient) output() map[string]any {
	out := map[string]any{
		"Guid": r.GUID, "ExternalDirectoryObjectId": r.ExternalDirectoryObjectID,
		"Identity": r.Name, "Id": r.Name, "Name": r.Name, "DisplayName": r.DisplayName, "Alias": r.Alias,
		"PrimarySmtpAddress": r.Primary(), "WindowsEmailAddress": r.Primary(), "EmailAddresses": r.EmailAddresses,
		"RecipientType": r.Kind, "RecipientTypeDetails": r.Kind,
		"HiddenFromAddressListsEnabled": r.Hidden,
	}
	for i := 1; i <= 15; i++ {
		name := fmt.Sprintf("CustomAttribute%d", i)
		out[name] = r.Custom[name]
	}
	if r.isGroup() {
		return out
	}
	out["UserPrincipalName"] = r.UserPrincipalName
	out["MicrosoftOnlineServicesID"] = r.UserPrincipalName
	out["WindowsLiveID"] = r.UserPrincipalName
	out["ExchangeGuid"] = orZero(r.ExchangeGUID)
	out["ArchiveGuid"] = orZero(r.ArchiveGUID)
	if r.Kind == UserMailbox {
		out["ForwardingSmtpAddress"], out["ForwardingAddress"] = nil, nil
		if r.ForwardingSMTP != "" {
			out["ForwardingSmtpAddress"] = "smtp:" + r.ForwardingSMTP
		}
		if r.ForwardingAddress != "" {
			out["ForwardingAddress"] = r.ForwardingAddress
		}
		out["DeliverToMailboxAndForward"] = r.KeepsForwarded
	}
	out["ExternalEmailAddress"] = nil
	if r.ExternalEmailAddress != "" {
		out["ExternalEmailAddress"] = "SMTP:" + r.ExternalEmailAddress
	}
	return out
}

func orZero(guid string) string {
	if guid == "" {
		return zeroGUID
	}
	return guid
}
