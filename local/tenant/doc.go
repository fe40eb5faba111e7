// Package tenant is a Microsoft 365 tenant on one machine: a stateful
// simulation of the parts of Microsoft Graph and of the Exchange Online admin
// API that the worker's functions use, over HTTP on loopback.
//
// It must not know the worker, the engine or any other program: it speaks the
// two public protocols and nothing else. What it does not simulate it refuses
// with the error the real service gives for an unknown path, property or
// cmdlet; it never guesses. A property that exists in a real tenant but not in
// the tables of graph/schema.go is therefore refused as unknown.
//
// # One directory
//
// Entra users and groups and Exchange recipients are one directory. A
// recipient is always the Exchange side of a user or of a mail-enabled group
// and carries its object id as ExternalDirectoryObjectId. Addresses written
// through Exchange appear in the user's mail and proxyAddresses, a user
// principal name changed in Graph appears in Exchange.
//
// A user is a recipient only as a mail user, which New-MailUser creates together
// with the user, or with a mailbox. A user of Graph that has mail or otherMails is
// none. A licence with a plan of the service exchange gives a user a mailbox after
// Config.ProvisionDelay; a mail user with an ExchangeGuid waits for the mailbox of another
// tenant instead, and keeps waiting. Removing the last such licence takes the mailbox
// of a person away after the same delay, and a licence within 30 days gives it back; shared, room and equipment
// mailboxes stay. Licences of groups, with their errors, come from a Seed, as
// licenseAssignmentStates of users. Shared, room and equipment mailboxes come from New-Mailbox,
// distribution groups from New-DistributionGroup, and both, with holds, from a Seed. A Microsoft 365
// group of Graph is a recipient, too, with an address of its mailNickname in the initial domain of the tenant.
//
// # Mail and permissions
//
// A user with a mailbox can send mail; it goes nowhere and is listed in State.Mails,
// a message that is sent twice twice. With Config.Roles an operation of Graph requires
// the application permissions that its reference names. Exchange grants an
// application everything or nothing.
//
// # Comparison with the real services
//
// No live tenant was used. Status codes, error codes and texts follow the
// public documentation and error reports of users. Known only by report, or
// chosen here because nothing public says: the exception type names of
// Exchange errors other than ManagementObjectNotFoundException, the refusal of
// more than 20 ids by checkMemberGroups, the refusal of a duplicate
// ExchangeGuid. Whether a changed ExternalEmailAddress takes the primary address
// along is a switch, Faults.ExternalMovesPrimary, and so is whether New-MailUser heeds
// PrimarySmtpAddress, Faults.IgnoresPrimarySMTP. Domains are checked only when the seed
// lists verified domains, which then are the accepted ones too: those of user principal
// names, and those of SMTP addresses that a cmdlet adds, except the external address.
package tenant
