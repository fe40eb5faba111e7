package catalog

var (
	contentKind = Param{
		Name: "Kind", Type: OneOf("OneDrive", "Site", "Group"), Required: true,
		Description: "What moves: the OneDrive of a user, a site, or the site of a Microsoft 365 group.",
	}
	contentSource = Param{
		Name: "Source", Type: String, Required: true,
		Description: "What moves, in the source tenant: the sign-in name of the user, the URL of the site, or the mail nickname of the group.",
	}
	contentTarget = Param{
		Name: "Target", Type: String, Required: true,
		Description: "The same in the target tenant: the sign-in name of the user, the URL of the new site, or the mail nickname of the group.",
	}
	contentHost = Param{
		Name: "TargetHost", Type: String, Required: true,
		Description: "SharePoint host of the target tenant, such as https://fabrikam-my.sharepoint.com; of several locations, the one of the target.",
	}
)

// TestSharePointMigrationReady has SharePoint check a move of content. Package sharepoint carries it out, like the
// functions after it.
var TestSharePointMigrationReady = Function{
	Name: "Test-SharePointMigrationReady",
	Description: "Has SharePoint check whether content can move to another tenant: the relationship of the tenants, the identity map, and the source. Nothing moves. " +
		"Run it in the source tenant. Not complete until the content can move, so that a step can poll. It does not find a OneDrive that exists in the target: see Test-SharePointOneDrive.",
	Params: []Param{contentKind, contentSource, contentTarget, contentHost},
	Result: []Field{
		{"complete", "Whether the content can move."},
		{"reason", "If not: what SharePoint says, or the status of its validation, and the expected one."},
		{"data", "Kind, Source, Target, ExpectedReady, and Ready."},
	},
	Errors:      []Error{otherSource},
	Permissions: []string{"SharePointCrossTenantMigration.Manage.All"},
	ReadOnly:    true,
	Repeated:    "Reads only.",
}

// NewSharePointMigrationTask starts a move of content.
var NewSharePointMigrationTask = Function{
	Name: "New-SharePointMigrationTask",
	Description: "Starts the move of a OneDrive or a site to another tenant. Run it in the source tenant, after an administrator has set up the relationship of both tenants and uploaded the identity map. " +
		"SharePoint makes the source read-only while it moves, and leaves a redirect. Succeeds if a task for this source and target waits, runs or is completed; fails if there is one for another target. " +
		"Replaces a task that failed or was cancelled. Poll Test-SharePointMigrationTask after it.",
	Params: []Param{
		contentKind, contentSource, contentTarget, contentHost,
		{Name: "StartAfter", Type: String, Description: "Time before which the move does not start, such as 2026-03-01T18:00:00Z. Default: as soon as possible."},
		{Name: "StartBefore", Type: String, Description: "Time at which SharePoint cancels the task, if it has not started. Later than StartAfter. Default: never."},
	},
	Result: []Field{{"TaskId", "Id of the task."}},
	Errors: []Error{
		{sharePointRefused, "SharePoint refuses the source, such as a user without a OneDrive or an unknown group.", "Correct what the message names."},
		{FailureConflict, "A task of the source exists for another target, or ended since the job was sent.", "Cancel it with Stop-SharePointMigrationTask, or retry the step."},
		{FailureParameters, "A name, URL or time is not valid, or StartBefore is not after StartAfter.", "Correct the parameter."},
	},
	Permissions: []string{"SharePointCrossTenantMigration.Manage.All", "SharePointCrossTenantMigration.Read.All"},
	Repeated: "The function reads the task of this source first. If an earlier delivery started a task that has failed or was cancelled since, it fails and starts no other: " +
		"a retry of the step is another job, and starts one.",
}

// TestSharePointMigrationTask tells how far a move of content is.
var TestSharePointMigrationTask = Function{
	Name: "Test-SharePointMigrationTask",
	Description: "Checks that content has moved to another tenant, or has begun to. Run it in the source tenant. Not complete until it has, so that a step can poll. " +
		"Fails with MigrationFailed when SharePoint gave up, with its reason, and when the task was cancelled.",
	Params: []Param{
		contentKind, contentSource,
		{Name: "ExpectedStatus", Type: OneOf("inProgress", "completed"), Description: "inProgress: the move has begun, or is completed. Default: completed."},
	},
	Result: []Field{
		{"complete", "Whether it is as expected."},
		{"reason", "If not: the actual and the expected status."},
		{"data", "Kind, Source, TaskId, ExpectedStatus, and Status as SharePoint has it."},
	},
	Errors: []Error{
		{graphItemNotFound, "The source has no task.", "Start one with New-SharePointMigrationTask."},
		{FailureMigration, "The move failed or was cancelled.", "Correct what the message names, and start it again with New-SharePointMigrationTask."},
	},
	Permissions: []string{"SharePointCrossTenantMigration.Read.All"},
	ReadOnly:    true,
	Repeated:    "Reads only.",
}

// StopSharePointMigrationTask cancels a move of content.
var StopSharePointMigrationTask = Function{
	Name: "Stop-SharePointMigrationTask",
	Description: "Cancels the move of a OneDrive or a site before it starts. Run it in the source tenant. Succeeds if there is no task, or if it failed or was cancelled. " +
		"Fails if the move is completed: content does not come back. SharePoint refuses to cancel a move that runs.",
	Params: []Param{contentKind, contentSource},
	Errors: []Error{
		{FailureConflict, "The move is completed, or the task was changed since the job was sent.", "Content in the target stays there; otherwise retry the step."},
	},
	Permissions: []string{"SharePointCrossTenantMigration.Manage.All", "SharePointCrossTenantMigration.Read.All"},
	Repeated:    "The function reads the task first, and succeeds if that task is cancelled. A redelivered job fails with Conflict if the task was changed since the job was sent: a retry of the step cancels it.",
}

// TestSharePointOneDrive tells whether a user has a OneDrive.
var TestSharePointOneDrive = Function{
	Name: "Test-SharePointOneDrive",
	Description: "Checks whether a user has a OneDrive: in the source tenant, without one nothing can move; in the target tenant, one that exists blocks the move (ExpectedExists: false). " +
		"An application cannot create a OneDrive: for people whose files do not move, an administrator runs Request-SPOPersonalSite. Not complete until it is as expected, so that a step can poll.",
	Params: []Param{
		{Name: "UserId", Type: String, Required: true, Description: "Object id or sign-in name of the user."},
		{Name: "ExpectedExists", Type: Boolean, Description: "Whether the user should have a OneDrive. Default: true."},
	},
	Result: []Field{
		{"complete", "Whether it is as expected."},
		{"reason", "If not: the actual and the expected state."},
		{"data", "UserId, ExpectedExists, Exists, and WebUrl, the address of the OneDrive."},
	},
	Errors:      []Error{unknownUser},
	Permissions: []string{"Files.Read.All", "User.Read.All"},
	ReadOnly:    true,
	Repeated:    "Reads only. It does not create a OneDrive: Graph does so only for a signed-in user.",
}
