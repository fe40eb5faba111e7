package catalog

// Task is something that a migration has to do, with the functions that do it.
type Task struct {
	Text      string
	Tenant    string // source, target or both
	Functions []Function
}

// TaskGroup is tasks of the same kind.
type TaskGroup struct {
	Name  string
	Tasks []Task
}

// TaskGroups are the tasks of a migration, in the order in which people come to them. Each function of
// Standard belongs to one of them.
func TaskGroups() []TaskGroup {
	const source, target, both = "source", "target", "both"
	return []TaskGroup{
		{"Check before the move", []Task{
			{"Find addresses that are taken", target, []Function{TestEntraAddressAvailable}},
			{"Find domains that are not verified", target, []Function{TestEntraDomainVerified}},
			{"Count the licences that are left", target, []Function{TestEntraLicenseAvailable}},
			{"Find holds that keep a mailbox", source, []Function{TestExchangeMailboxHold}},
			{"Compare any attribute", both, []Function{TestEntraAttributeMatch, TestExchangeAttributeMatch}},
		}},
		{"People in the target", []Task{
			{"Read what the target needs of a mailbox", source, []Function{GetExchangeMailbox}},
			{"Create the target of a mailbox move", target, []Function{NewExchangeMailUser, TestExchangeMailUser}},
			{"Prepare a mail user for a mailbox with much in its Recoverable Items folder", target, []Function{SetExchangeMailUserHold}},
			{"Undo the target of a mailbox move, unless it has the mailbox", target, []Function{RemoveExchangeMailUser}},
			{"Give a mail user the ids of its source mailbox", target, []Function{SetExchangeMailUserGuids}},
			{"Say where the mail of a mail user goes", target, []Function{SetExchangeExternalAddress}},
			{"Create a user without mail", target, []Function{NewEntraUser}},
			{"Set attributes and the manager", target, []Function{SetEntraUserAttributes, SetEntraUserManager}},
			{"Set custom attributes, also of users that once were synchronised from on-premises", both, []Function{SetExchangeCustomAttributes}},
			{"Let a user sign in with an account of another organisation, or no longer", both, []Function{NewEntraB2BInvitation, ConvertEntraB2BToInternal}},
		}},
		{"Licences", []Task{
			{"Assign and check a licence", target, []Function{AddEntraUserLicense, TestEntraUserLicense}},
			{"Take a licence back", source, []Function{RemoveEntraUserLicense}},
		}},
		{"Addresses", []Task{
			{"Change the addresses of a person, mailbox or group", both, []Function{SetExchangePrimaryEmail, AddExchangeSecondaryEmail, SetEntraProxyAddresses, TestExchangeAddresses}},
			{"Hide a recipient from address lists, or show it", both, []Function{SetExchangeHidden}},
			{"Remove single addresses, or free a domain that moves to the other tenant", source, []Function{RemoveExchangeAddresses}},
		}},
		{"Microsoft's move of mailboxes", []Task{
			{"Copy mailboxes", target, []Function{NewExchangeMigrationBatch, TestExchangeMigrationUser}},
			{"Move mailboxes", target, []Function{CompleteExchangeMigrationBatch}},
			{"Move one person at another time than the batch, or in spite of items that were skipped", target, []Function{SetExchangeMigrationUser}},
			{"Try moves again that failed", target, []Function{StartExchangeMigrationBatch}},
			{"Clean up, or stop moves", target, []Function{RemoveExchangeMigrationBatch}},
			{"Take a person out of a batch", target, []Function{RemoveExchangeMigrationUser}},
		}},
		{"Microsoft's move of mail, files and chats in one job", []Task{
			{"Create and validate a job", target, []Function{NewCrossTenantMigrationJob, ConfirmCrossTenantMigrationJob, TestCrossTenantMigrationJob}},
			{"Copy and move people", target, []Function{StartCrossTenantMigrationJob, TestCrossTenantMigrationUser}},
			{"Change when people are cut over", target, []Function{SetCrossTenantMigrationJob, CompleteCrossTenantMigrationJob}},
			{"Stop the move of a person, or of all", target, []Function{StopCrossTenantMigrationUser, StopCrossTenantMigrationJob}},
			{"Delete a job that has ended", target, []Function{RemoveCrossTenantMigrationJob}},
		}},
		{"Microsoft's move of files", []Task{
			{"Find people without a OneDrive in the source, or with one in the target", both, []Function{TestSharePointOneDrive}},
			{"Check that content can move", source, []Function{TestSharePointMigrationReady}},
			{"Move a OneDrive or a site, which locks it", source, []Function{NewSharePointMigrationTask, TestSharePointMigrationTask}},
			{"Stop a move", source, []Function{StopSharePointMigrationTask}},
		}},
		{"Sign-in", []Task{
			{"Change the sign-in name", both, []Function{SetEntraUserUPN}},
			{"Keep a user out, or in", both, []Function{SetEntraUserEnabled, RevokeEntraUserSessions}},
			{"Check who is excluded from Conditional Access, once Add-EntraGroupMember has put people into the excluded group", both, []Function{TestEntraConditionalAccessExclusion}},
			{"Set the password", target, []Function{SetEntraUserPassword}},
			{"Give a person a first sign-in, by mail to the one who hands it over", target, []Function{NewEntraUserTemporaryAccessPass, ResetEntraUserPassword}},
			{"Clear the methods of multifactor authentication", both, []Function{RemoveEntraUserAuthenticationMethods, TestEntraUserAuthenticationMethods}},
			{"Delete a user", both, []Function{RemoveEntraUser}},
		}},
		{"Source mailboxes after the move", []Task{
			{"Forward mail of a mailbox, since only Microsoft's move makes a mail user of it", source, []Function{SetExchangeForwarding, RemoveExchangeForwarding}},
			{"Answer with the new address", source, []Function{SetExchangeAutomaticReplies, RemoveExchangeAutomaticReplies}},
			{"Replace a mailbox by a contact: between Remove-EntraUserLicense and New-ExchangeMailContact, wait until it is gone", source, []Function{TestExchangeMailbox}},
			{"List a person who has no account here any more", source, []Function{NewExchangeMailContact, TestExchangeMailContact, RemoveExchangeMailContact}},
		}},
		{"Groups", []Task{
			{"Create a Microsoft 365 or security group", target, []Function{NewEntraGroup}},
			{"Change and check owners of security and Microsoft 365 groups", both, []Function{AddEntraGroupOwner, RemoveEntraGroupOwner, TestEntraGroupOwner}},
			{"Change and check members of security and Microsoft 365 groups, such as the group of a Conditional Access policy that requires multifactor authentication", both, []Function{AddEntraGroupMember, RemoveEntraGroupMember, TestEntraGroupMembership}},
			{"Change and check members and owners of teams", both, []Function{AddTeamsMember, RemoveTeamsMember, TestTeamsMembership}},
			{"Read the names and addresses of a group", source, []Function{GetExchangeGroup}},
			{"Create a distribution list", target, []Function{NewExchangeDistributionList}},
			{"Change and check members of distribution lists", both, []Function{AddExchangeGroupMember, RemoveExchangeGroupMember, TestExchangeGroupMembership}},
			{"Change and check owners of distribution lists", both, []Function{AddExchangeGroupOwner, RemoveExchangeGroupOwner, TestExchangeGroupOwner}},
		}},
		{"Shared mailboxes and permissions", []Task{
			{"Create a shared, room or equipment mailbox", target, []Function{NewExchangeMailbox}},
			{"Convert a mailbox", both, []Function{SetExchangeMailboxType}},
			{"Read the permissions of a mailbox, its calendar, or a group", source, []Function{GetExchangeMailboxPermissions, GetExchangeCalendarPermissions}},
			{"Give people the same permissions", target, []Function{
				AddExchangeMailboxPermissions, TestExchangeMailboxPermissions, SetExchangeCalendarPermissions, TestExchangeCalendarPermissions,
			}},
			{"Take permissions", both, []Function{RemoveExchangeMailboxPermissions, RemoveExchangeCalendarPermissions}},
		}},
		{"Tell people", []Task{
			{"Mail a person, in the person's language", both, []Function{SendMemberMail}},
			{"Tell administrators by mail", both, []Function{SendAdminAlert}},
			{"Tell a channel of Teams, or a program", both, []Function{SendWebhookMessage}},
		}},
		{"All the rest", []Task{
			{"Make a request, or run a cmdlet, that no other function has", both, []Function{InvokeGraphRequest, InvokeExchangeCommand}},
		}},
	}
}
