package catalog

var batchName = Param{Name: "BatchName", Type: String, Required: true, Description: "Name of the migration batch, unique in the tenant."}

// NewExchangeMigrationBatch is carried out by package exchange, like the functions after it.
var NewExchangeMigrationBatch = Function{
	Name: "New-ExchangeMigrationBatch",
	Description: "Starts a migration batch, which copies mailboxes of another tenant to their mail users in this one. Run it in the target tenant, once for a batch or with one person each. " +
		"An administrator prepares both tenants first: the migration endpoint, the organisation relationships, and the group of those who may leave. " +
		"If a batch of this name exists with the same endpoint, domain and people, the function succeeds; otherwise it fails. A person is in one batch at a time.",
	Params: []Param{
		batchName,
		{Name: "SourceEndpoint", Type: String, Required: true, Description: "Name of the migration endpoint."},
		{Name: "TargetDeliveryDomain", Type: Domain, Required: true, Description: "Domain in which each mail user has an address, such as fabrikam.onmicrosoft.com."},
		{Name: "EmailAddresses", Type: StringList, Required: true, Description: "Addresses of the mail users in this tenant, at most 2,000."},
		{Name: "StartAfter", Type: String, Description: "Time after which Exchange begins to copy, such as 2026-02-20T18:00:00Z. Default: at once."},
		{Name: "CompleteAfter", Type: String, Description: "Time after which mailboxes move by themselves, such as 2026-03-01T18:00:00Z. Default: when Complete-ExchangeMigrationBatch is called."},
		{Name: "NotificationEmails", Type: StringList, Description: "Addresses that get Exchange's reports."},
	},
	Errors: []Error{
		{exchangeNotFound, "The migration endpoint does not exist.", "Correct SourceEndpoint, or create the endpoint."},
		{exchangeMigration, "Exchange refuses the batch, such as for a domain that is not accepted, or a person listed twice.", "Correct what the message names."},
		{FailureParameters, "An address or a time is not valid.", "Correct the parameter."},
		{FailureConflict, "A batch of this name exists and differs, or cannot be used any more.", "Give another BatchName, or remove the batch with Remove-ExchangeMigrationBatch."},
	},
	Permissions: exchangePermissions,
	Repeated: "The function reads the batch of this name first, and compares it. A job that comes again after the batch was removed starts another one, " +
		"in which mailboxes that were moved fail.",
}

// TestExchangeMigrationUser tells how far the move of a mailbox is.
var TestExchangeMigrationUser = Function{
	Name: "Test-ExchangeMigrationUser",
	Description: "Checks that a mailbox of a migration batch is copied, or moved. Not complete until it is, so that a step can poll. " +
		"Fails with MigrationFailed when Exchange gave up, with the reason: repair it, and call Start-ExchangeMigrationBatch.",
	Params: []Param{
		batchName,
		{Name: "EmailAddress", Type: Email, Required: true, Description: "Address with which the person is in the batch."},
		{Name: "ExpectedStatus", Type: OneOf("Synced", "Completed"), Description: "Synced: the first copy is there, and changes follow. Completed: the mailbox is in this tenant. Default: Synced, which a completed move is, too."},
	},
	Result: []Field{
		{"complete", "Whether it is as expected."},
		{"reason", "If not: the actual and the expected status."},
		{"data", "BatchName, EmailAddress, ExpectedStatus, and Status as Exchange has it."},
	},
	Errors: []Error{
		{exchangeNotFound, "The person is in no batch.", "Put the person in a batch with New-ExchangeMigrationBatch."},
		otherBatch,
		{FailureMigration, "The move failed.", "Correct what the message names, then retry with Start-ExchangeMigrationBatch."},
	},
	Permissions: exchangePermissions,
	ReadOnly:    true,
	Repeated:    "Reads only.",
}

// CompleteExchangeMigrationBatch moves the mailboxes of a batch.
var CompleteExchangeMigrationBatch = Function{
	Name: "Complete-ExchangeMigrationBatch",
	Description: "Has Exchange copy what changed since, and move the mailboxes of a batch: the mail users of this tenant get the mailboxes, and mail users take their place in the source. " +
		"Poll Test-ExchangeMigrationUser with ExpectedStatus: Completed after it. People with a later time of their own wait for it. Fails if the batch is stopped or is being removed.",
	Params: []Param{batchName},
	Result: []Field{{"BatchName", "Name of the batch. A step can keep it, to know that the mailboxes may have moved."}},
	Errors: []Error{
		unknownBatch,
		{FailureConflict, "The batch was stopped, or Exchange gave it up.", "Start it with Start-ExchangeMigrationBatch, or create another one."},
	},
	Permissions: exchangePermissions,
	Repeated:    "Succeeds if the batch completes or is completed. A job that comes again does not complete a batch that was created since. Exchange may ignore a repetition within eight hours.",
}

// StartExchangeMigrationBatch has failed moves tried again.
var StartExchangeMigrationBatch = Function{
	Name: "Start-ExchangeMigrationBatch",
	Description: "Has Exchange try the moves of a batch again that failed, or start a batch that was stopped. Repair what the failures say first. " +
		"Succeeds without a change if no move has failed. Poll Test-ExchangeMigrationUser after it; for some minutes Exchange may still show the old failure, so let that step retry.",
	Params: []Param{batchName},
	Errors: []Error{
		unknownBatch,
		{FailureConflict, "The batch is corrupted, being removed or being stopped.", "Remove one that is corrupted with Remove-ExchangeMigrationBatch, and create another one; retry the step when a batch is Stopped."},
	},
	Permissions: exchangePermissions,
	Repeated:    "The function reads the batch and its people first, and starts nothing if none has failed. A job that comes again after moves have failed again, or after the batch was stopped, starts them once more, but not those of a batch that was created since.",
}

// SetExchangeMigrationUser changes the move of one person.
var SetExchangeMigrationUser = Function{
	Name: "Set-ExchangeMigrationUser",
	Description: "Changes the move of one person of a batch: when the mailbox moves, regardless of the batch, or that it moves without the items that were skipped. " +
		"Give at least one of both. Succeeds without a change if the mailbox was moved. Fails if the person is in another batch.",
	Params: []Param{
		batchName,
		{Name: "EmailAddress", Type: Email, Required: true, Description: "Address with which the person is in the batch."},
		{Name: "ApproveSkippedItems", Type: Boolean, Description: "True: the items that Exchange has skipped until now, such as damaged ones, stay behind. An administrator should have looked at them. Default: false."},
		{Name: "CompleteAfter", Type: String, Description: "Time after which the mailbox moves, such as 2026-03-01T18:00:00Z; one that has passed means now."},
	},
	Errors: []Error{
		{exchangeNotFound, "The person is in no batch.", "Put the person in a batch with New-ExchangeMigrationBatch."},
		otherBatch,
		{FailureParameters, "Nothing is to change, or CompleteAfter has no zone.", "Give CompleteAfter with a zone, or ApproveSkippedItems: true."},
	},
	Permissions: exchangePermissions,
	Repeated:    "Written again, which sets the same time, and approves items skipped in the meantime. Exchange does not show either setting, so the function does not read them back.",
}

// RemoveExchangeMigrationUser takes a person out of a batch.
var RemoveExchangeMigrationUser = Function{
	Name: "Remove-ExchangeMigrationUser",
	Description: "Takes a person out of a migration batch, which ends the copy of the mailbox: it stays in the source, unless it was moved before. The others of the batch go on. " +
		"Fails while the mailbox is being moved, and if the person is in another batch. Succeeds if the person is in none.",
	Params: []Param{
		batchName,
		{Name: "EmailAddress", Type: Email, Required: true, Description: "Address with which the person is in the batch."},
	},
	Errors: []Error{
		{FailureConflict, "The person is in another batch, or is being moved.", "Correct BatchName, or wait until the move has ended."},
	},
	Permissions: exchangePermissions,
	Repeated:    "The function reads the person first, and succeeds if the person is in no batch, once replication lag cannot be the reason. A redelivered job leaves a person who is in another batch by now.",
}

// RemoveExchangeMigrationBatch deletes a batch.
var RemoveExchangeMigrationBatch = Function{
	Name: "Remove-ExchangeMigrationBatch",
	Description: "Deletes a migration batch: after its moves, or to end its copies. A batch that runs is stopped first, and the function waits until it has stopped. " +
		"Mailboxes that were not moved stay in the source; those that were moved stay in this tenant. Fails while a mailbox of the batch is being moved. Succeeds if there is no such batch.",
	Params: []Param{batchName},
	Errors: []Error{
		{FailureParameters, "BatchName is empty.", "Give the name."},
		{FailureConflict, "A mailbox is being moved.", "Wait until the move has ended; its mailbox is in this tenant then."},
	},
	Permissions: exchangePermissions,
	Repeated: "The function reads the batch first, and goes on where the last delivery ended. It succeeds if there is no such batch, once replication lag cannot be the reason. " +
		"A redelivered job leaves a batch that was created since the job was sent.",
}
