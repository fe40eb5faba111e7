package catalog

var (
	migrationJobName = Param{
		Name: "JobName", Type: String, Required: true,
		Description: "Display name of the job, unique in the tenant. Without / \\ ? # % $ and parentheses.",
	}
	migrationJobUser = Param{Name: "UserId", Type: GUID, Required: true, Description: "Object id of the user in this tenant, the target."}
)

var (
	readMigrations  = []string{"CrossTenantContentMigration.Read.All"}
	writeMigrations = []string{"CrossTenantContentMigration.ReadWrite.All"}
)

// NewCrossTenantMigrationJob is carried out by package migration, like the functions after it.
var NewCrossTenantMigrationJob = Function{
	Name: "New-CrossTenantMigrationJob",
	Description: "Creates a job of Microsoft's own move, which moves mailboxes, OneDrives, chats and meetings of people of another tenant. Run it in the target tenant, once for a batch or with one person each. " +
		"An administrator prepares both tenants first. The job moves nothing until Start-CrossTenantMigrationJob. If a job of this name exists with the same source, people and workloads, the function succeeds, unless the job is cancelled or being deleted; " +
		"otherwise it fails. A person is in one active job, and cannot come back to a job that the person was removed from.",
	Params: []Param{
		migrationJobName,
		{Name: "SourceTenantId", Type: GUID, Required: true, Description: "Id of the source tenant."},
		{Name: "UserIds", Type: StringList, Required: true, Description: "Object ids of the users in this tenant, at most 2,000. Pages of Microsoft disagree on the limit: a job of at most 100 people is safe."},
		{Name: "CompleteAfter", Type: String, Required: true, Description: "Time in the future after which people are cut over, such as 2026-03-01T18:00:00Z. Until then the job copies."},
		{Name: "Workloads", Type: StringList, Description: "What moves: Exchange, ODSP (OneDrive), Teams, Meeting. Default: all."},
		{Name: "SourceEndpoint", Type: String, Description: "Name of the migration endpoint. Required if mailboxes move."},
		{Name: "TargetDeliveryDomain", Type: Domain, Description: "Domain in which each mail user has an address, such as fabrikam.onmicrosoft.com. Required if mailboxes move."},
	},
	Result: []Field{{"JobId", "Id of the job."}},
	Errors: []Error{
		{FailureConflict, "A job of this name exists and differs, has ended, or a person is in another active job.", "Give another JobName, remove the old job, or take the person out."},
		{FailureParameters, "A name, id, time or workload is not valid, more than 2,000 people are given, or the endpoint does not fit the workloads.", "Correct the parameter."},
	},
	Permissions: writeMigrations,
	Repeated:    "The function reads the job of this name first, and compares it. A job that comes again after the migration job was deleted creates another one.",
}

// ConfirmCrossTenantMigrationJob has Graph validate a job.
var ConfirmCrossTenantMigrationJob = Function{
	Name: "Confirm-CrossTenantMigrationJob",
	Description: "Has Graph validate a job: the tenants, and each person. Succeeds if the validation runs already, which creating a job may start, if it passed less than seven days ago, or if the job was started. " +
		"Validates again after a failure. Graph may refuse to validate a job again that passed more than seven days ago, and does not tell when a validation passed: any change of the job counts. If Start-CrossTenantMigrationJob then says that the validation has expired, stop the job, remove it, and create it again. Poll Test-CrossTenantMigrationJob after it, or Test-CrossTenantMigrationUser with ExpectedStatus: valid.",
	Params: []Param{migrationJobName},
	Errors: []Error{
		unknownJob,
		{FailureConflict, "The status of the job allows no validation.", "Do what the message names in the admin center, or create another job."},
		{FailureParameters, "JobName has a character that Graph does not take in the path of a job.", "Give another name."},
	},
	Permissions: writeMigrations,
	Repeated:    "The function reads the job first, and validates again only what failed before the job was sent, which changes nothing else.",
}

// TestCrossTenantMigrationJob tells how far a job is.
var TestCrossTenantMigrationJob = Function{
	Name: "Test-CrossTenantMigrationJob",
	Description: "Checks that a job has passed validation, or is completed. Not complete until it is, so that a step can poll; also with a status that the function does not know, or while the job waits for an administrator. " +
		"Fails with MigrationFailed when the job failed, was cancelled or is being deleted, and when some of its people failed: Test-CrossTenantMigrationUser says why.",
	Params: []Param{
		migrationJobName,
		{Name: "ExpectedStatus", Type: OneOf("validatePassed", "completed"), Description: "validatePassed: validation has passed, also if the job was started since. Default: completed."},
	},
	Result: []Field{
		{"complete", "Whether it is as expected."},
		{"reason", "If not: the actual and the expected status."},
		{"data", "JobName, JobId, ExpectedStatus, and Status as Graph has it."},
	},
	Errors: []Error{
		unknownJob,
		{FailureMigration, "The job failed, was cancelled, or ended with people who failed.", "Read the reasons with Test-CrossTenantMigrationUser, and correct them."},
		{FailureParameters, "JobName has a character that Graph does not take in the path of a job.", "Give another name."},
	},
	Permissions: readMigrations,
	ReadOnly:    true,
	Repeated:    "Reads only.",
}

// StartCrossTenantMigrationJob starts a job.
var StartCrossTenantMigrationJob = Function{
	Name: "Start-CrossTenantMigrationJob",
	Description: "Starts a job that has passed validation, or starts a job again in which people failed. People are cut over after the job's time. Succeeds if the job runs or is completed. " +
		"Fails if the job has not passed validation, or passed it more than seven days ago: run Confirm-CrossTenantMigrationJob first. Poll Test-CrossTenantMigrationUser after it.",
	Params: []Param{migrationJobName},
	Errors: []Error{
		unknownJob,
		{FailureConflict, "The job is not validated, or its status allows no start.", "Validate it with Confirm-CrossTenantMigrationJob, and wait with Test-CrossTenantMigrationJob."},
	},
	Permissions: writeMigrations,
	Repeated:    "The function reads the job first. It does not start a job again that has failed since the function's job was sent: a retry of the step does.",
}

// SetCrossTenantMigrationJob changes when people are cut over.
var SetCrossTenantMigrationJob = Function{
	Name:        "Set-CrossTenantMigrationJob",
	Description: "Changes the time after which a job cuts its people over: to postpone, or to move them earlier. Graph refuses it once that time has come.",
	Params: []Param{
		migrationJobName,
		{Name: "CompleteAfter", Type: String, Required: true, Description: "Time in the future, such as 2026-03-01T18:00:00Z."},
	},
	Errors: []Error{
		unknownJob,
		{FailureConflict, "The job has ended, or was changed since the step was sent.", "Retry the step if the time is still wanted."},
		{FailureParameters, "CompleteAfter is no time with a zone, or has passed.", "Correct the parameter."},
	},
	Permissions: writeMigrations,
	Repeated:    "The function reads the job first, and fails with Conflict if another time was set, or the job changed otherwise, since the function's job was sent: a retry of the step sets the time.",
}

// CompleteCrossTenantMigrationJob has the people of a job cut over.
var CompleteCrossTenantMigrationJob = Function{
	Name: "Complete-CrossTenantMigrationJob",
	Description: "Has Graph cut the people of a job over now: sets the job's time to five seconds from now. Create the job with a time that is later than your cut-over, so that no person moves before this function is called. " +
		"Succeeds if that time has come. Fails if the job was not started. Poll Test-CrossTenantMigrationUser with ExpectedStatus: completed after it. There is no way back: a job whose time has come cannot be cancelled.",
	Params: []Param{migrationJobName},
	Result: []Field{{"JobName", "Name of the job. A step can keep it, to know that the people may have moved."}},
	Errors: []Error{
		unknownJob,
		{FailureConflict, "The job does not copy, or was changed since the step was sent.", "Start it with Start-CrossTenantMigrationJob; retry the step if people are to be cut over now."},
		{FailureParameters, "JobName has a character that Graph does not take in the path of a job.", "Give another name."},
	},
	Permissions: writeMigrations,
	Repeated:    "The function reads the job first, and fails with Conflict if the job was changed since the function's job was sent, and its time has not come: a retry of the step cuts the people over.",
}

// StopCrossTenantMigrationJob cancels a job.
var StopCrossTenantMigrationJob = Function{
	Name: "Stop-CrossTenantMigrationJob",
	Description: "Cancels a job before its people are cut over. Succeeds if there is no such job, or if the job is cancelled. Fails if people were moved: data does not come back; and if the job failed and Graph refuses to cancel it, since the job would move people after another start: remove it. " +
		"Graph refuses to cancel a job whose time has come.",
	Params: []Param{migrationJobName},
	Errors: []Error{
		{FailureConflict, "The job is completed, or failed.", "Data in the target stays there; remove a failed job with Remove-CrossTenantMigrationJob."},
	},
	Permissions: writeMigrations,
	Repeated:    "The function reads the job first, and succeeds if that job is cancelled or about to be, or was created after the function's job was sent.",
}

// RemoveCrossTenantMigrationJob deletes a job.
var RemoveCrossTenantMigrationJob = Function{
	Name:        "Remove-CrossTenantMigrationJob",
	Description: "Deletes a job that has ended, for its name to be free. Succeeds if there is no such job, or if Graph deletes it, which takes up to 48 hours. Graph refuses it while the job runs: cancel it first.",
	Params:      []Param{migrationJobName},
	Errors: []Error{
		{FailureConflict, "The job has not ended.", "Stop it with Stop-CrossTenantMigrationJob, or wait until it has ended."},
	},
	Permissions: writeMigrations,
	Repeated:    "The function reads the job first, and succeeds if that job is deleted or about to be, or was created after the function's job was sent.",
}

// TestCrossTenantMigrationUser tells how far a person of a job is.
var TestCrossTenantMigrationUser = Function{
	Name: "Test-CrossTenantMigrationUser",
	Description: "Checks that a person of a job is validated, copied or moved, in each workload. Not complete until all are, so that a step can poll; also with a status that the function does not know. " +
		"Fails with MigrationFailed when a workload gave up, with the person's own errors: repair them, and start the job again.",
	Params: []Param{
		migrationJobName,
		migrationJobUser,
		{Name: "ExpectedStatus", Type: OneOf("valid", "synced", "completed"), Description: "valid: validation has passed. synced: the first copy is there, and changes follow. completed: the person is moved. Default: synced. Later states count, too."},
		{Name: "Workloads", Type: StringList, Description: "Workloads that count: Exchange, ODSP, Teams, Meeting. Default: all of the job. One without a status is not complete. No page says which of them have the status synced."},
	},
	Result: []Field{
		{"complete", "Whether it is as expected."},
		{"reason", "If not: the actual and the expected status of the workloads."},
		{"data", "JobName, UserId, ExpectedStatus, and Workloads with the Status of each as Graph has it."},
	},
	Errors: []Error{
		{graphPlainNotFound, "The job does not exist, or the person is not in it.", "Correct JobName or UserId."},
		{FailureMigration, "The move of the person failed, was cancelled, or did not pass the validation.", "Correct what the message names, and start the job again."},
		{FailureParameters, "Workloads has an unknown name.", "Correct the parameter."},
	},
	Permissions: readMigrations,
	ReadOnly:    true,
	Repeated:    "Reads only.",
}

// StopCrossTenantMigrationUser takes a person out of a job.
var StopCrossTenantMigrationUser = Function{
	Name: "Stop-CrossTenantMigrationUser",
	Description: "Cancels the move of one person of a job, before people are cut over. Others go on. The person cannot come back to this job. Succeeds if the person is not in the job, or is cancelled there. " +
		"Fails if there is no such job; if the person was moved: data does not come back; and if the person failed and Graph refuses to cancel, since the person would move if the job is started again.",
	Params: []Param{migrationJobName, migrationJobUser},
	Errors: []Error{
		unknownJob,
		{FailureConflict, "A workload of the person is completed, or failed and would move if the job is started again.", "Data in the target stays there; remove a failed job with Remove-CrossTenantMigrationJob."},
	},
	Permissions: writeMigrations,
	Repeated:    "The function reads the person first, and succeeds if the move is cancelled or about to be, or if the job was created after the function's job was sent.",
}
