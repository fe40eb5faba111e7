package catalog

import "slices"

// Error documents one kind of failure: its type as a result carries it, when it happens, and what to do.
type Error struct {
	Type string
	When string
	Do   string
}

// CommonErrors are those that every function can have. A function lists its own in Errors.
func CommonErrors() []Error {
	return slices.Clone(commonErrors)
}

var commonErrors = []Error{
	{FailureParameters, "A required parameter is missing, one is unknown, or a value is not of its type.", "Correct the step. It is not retried, since it would fail in the same way."},
	{FailureUnknownFunction, "The worker has no function of this name.", "Correct the name, or update the worker. The step is not retried."},
	{FailureNotConfigured, "The worker lacks a setting that the function needs, or its settings do not allow the call.", "Set what the message names at the worker, then retry."},
	{"Authorization_RequestDenied", "Graph refuses: the app registration lacks an application permission or a directory role.", "Grant what the function needs. `worker verify` shows missing permissions."},
	{"HTTP 401", "Exchange Online refuses the token: the app registration lacks Exchange.ManageAsApp.", "Grant it. `worker verify` shows missing permissions."},
	{"Microsoft.Exchange.Admin.OData.Core.ODataServiceException", "The app registration has no role in Exchange Online that allows the cmdlet.", "Assign the directory role of the function."},
	{FailureThrottled, "The turn of a call did not come within the limits of the tenant. A call that the tenant itself refused has the tenant's code; both are marked as throttled.", "Nothing: the step is retried after the time that the tenant gives. See the limits of the worker if it happens often."},
	{FailureUnreachable, "No answer came after repetitions, or the sign-in failed.", "Retry the step. If it stays, check the network, the credential and the health of the service."},
	{"HTTP 5xx", "The service answers with an error, such as HTTP 503, also after repetitions.", "Retry the step. If it stays, check the health of the service."},
	{FailureTimeout, "The function did not end within its time limit or the timeout of the step. What it has changed stays.", "Retry the step, or raise the time limit."},
	{FailureConflict, "Something else is where the result should be, or the tenant does not show a change that it accepted.", "Read the message: correct the object in the tenant or the parameters. After a change that does not show, retry the step."},
	{FailureMigration, "The tenant gave up a move.", "Correct what the message names, then start the move again."},
	{FailureInvalidResult, "The answer is larger than a message may be, or not what the function promises.", "Ask for less, or correct a function of your own."},
	{FailureExpired, "The job waited in the queue until its step's timeout, and was not started.", "Raise the number of workers or the timeout, then retry."},
	{FailureRevoked, "The batch was paused or cancelled before the job started.", "Resume the batch."},
	{FailureInvalidJob, "The message of the job cannot be read.", "Update the handler and the worker to the same version."},
	{FailurePanic, "The function has a defect. What it has changed stays.", "Report it with the log of the worker."},
	{FailureUnknown, "An error without a type of its own.", "Read the message and the log of the worker."},
}

// Types of failures that the tenant's answers have.
const (
	graphNotFound      = "Request_ResourceNotFound"
	graphBadRequest    = "Request_BadRequest"
	graphBadQuery      = "BadRequest"
	graphBadAction     = "badRequest"
	graphPlainNotFound = "NotFound"
	graphItemNotFound  = "itemNotFound"
	sharePointRefused  = "UnprocessableEntity"

	exchangeNotFound      = "Microsoft.Exchange.Configuration.Tasks.ManagementObjectNotFoundException"
	exchangeAmbiguous     = "Microsoft.Exchange.Configuration.Tasks.ManagementObjectAmbiguousException"
	exchangeTaken         = "Microsoft.Exchange.Configuration.ObjectModel.ProxyAddressExistsException"
	exchangeNotAccepted   = "Microsoft.Exchange.Configuration.ObjectModel.NotAcceptedDomainException"
	exchangeInvalid       = "Microsoft.Exchange.Data.DataValidationException"
	exchangeRecipientTask = "Microsoft.Exchange.Management.Tasks.RecipientTaskException"
	exchangeMigration     = "Microsoft.Exchange.Migration.MigrationPermanentException"
)

// Errors that several functions have.
var (
	unknownUser      = Error{graphNotFound, "The user does not exist.", "Correct the id, or wait until the user exists."}
	unknownGroup     = Error{graphNotFound, "The group does not exist.", "Correct GroupId, or wait until the group exists."}
	mailEnabled      = Error{graphBadRequest, "The group is a distribution list or a mail-enabled security group.", "Use the functions for groups of Exchange."}
	unknownRecipient = Error{exchangeNotFound, "The recipient does not exist.", "Correct the identity, or wait until Exchange shows the recipient."}
	unknownList      = Error{exchangeNotFound, "The group does not exist.", "Correct GroupIdentity, or wait until Exchange shows the group."}
	noMailbox        = Error{exchangeNotFound, "No mailbox has this identity.", "Correct Identity, or wait until the mailbox exists."}
	noMailUser       = Error{exchangeNotFound, "No mail user has this identity.", "Correct Identity, or wait until Exchange shows the mail user."}
	noMailboxOrGroup = Error{FailureConflict, "The recipient is neither a mailbox nor a group.", "Correct Identity."}
	addressTaken     = Error{exchangeTaken, "Another recipient has an address.", "Free the address with Remove-ExchangeAddresses, or give another one."}
	notAccepted      = Error{exchangeNotAccepted, "An address is not in an accepted domain of the tenant.", "Give another address, or add the domain to the tenant."}
	unknownBatch     = Error{exchangeNotFound, "The migration batch does not exist.", "Correct BatchName, or create it with New-ExchangeMigrationBatch."}
	otherBatch       = Error{FailureConflict, "The person is in another migration batch.", "Correct BatchName, or take the person out of the other batch."}
	unknownJob       = Error{graphPlainNotFound, "The job does not exist.", "Correct JobName, or create it with New-CrossTenantMigrationJob."}
	noSubscription   = Error{FailureConflict, "The tenant has no subscription of the product.", "Correct SkuPartNumber."}
	noMailDomain     = Error{FailureNotConfigured, "ALERT_FROM is not set, or To is in no domain of MAIL_DOMAINS.", "Set it at the worker, or give another address."}
	otherSource      = Error{FailureParameters, "A name or URL is not valid, or the kind is unknown.", "Correct the parameter."}
	noTeam           = Error{graphPlainNotFound, "The group has no team.", "Create the team first, or correct TeamId."}
)
