package exchange

import (
	"slices"
	"time"

	"github.com/matoolkit/matoolkit/local/tenant/directory"
)

func init() { // not a literal: run reaches back into cmdlets
	cmdlets["Get-UnifiedGroup"] = cmdlet{names("Identity", "ResultSize"), getRecipients(directory.GroupMailbox)}
	set := changeNames("PrimarySmtpAddress", "RequireSenderAuthenticationEnabled", "GrantSendOnBehalfTo")
	for _, name := range []string{"windowsemailaddress", "name", "force"} {
		delete(set, name)
	}
	cmdlets["Set-UnifiedGroup"] = cmdlet{set, setRecipient(directory.GroupMailbox)}
}

// keepsInitialAddress refuses to take the last address in onmicrosoft.com from a Microsoft 365 group.
func (s *Service) keepsInitialAddress(_ *command, next *directory.Recipient, _ time.Time) *reply {
	current, _ := s.Directory.Recipients.Latest(next.ExternalDirectoryObjectID)
	if next.Kind != directory.GroupMailbox || !slices.ContainsFunc(current.EmailAddresses, directory.InitialAddress) ||
		slices.ContainsFunc(next.EmailAddresses, directory.InitialAddress) {
		return nil
	}
	return cmdletFailure(recipientTask, "You can't remove all Microsoft Online Email Routing Address (MOERA) addresses from the group. There must be at least one.")
}
