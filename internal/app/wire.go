package app

import "github.com/matoolkit/matoolkit/internal/api"

// The names that the use cases have for the wire types of the admin API.
type (
	Page[T any]           = api.Page[T]
	ListOptions           = api.ListOptions
	RunbookView           = api.Runbook
	VersionView           = api.RunbookVersion
	PublishOptions        = api.PublishOptions
	ChangesView           = api.VersionChanges
	ForeseenView          = api.BatchForecast
	BatchView             = api.Batch
	MemberView            = api.Member
	PhaseView             = api.Phase
	StepView              = api.Step
	LateView              = api.AbandonedJob
	WaitView              = api.WorkerWait
	AdvanceView           = api.AdvanceResult
	Selection             = api.RetrySelection
	RetryView             = api.RetryResult
	AddedView             = api.AddResult
	MarkView              = api.Attribution
	HeldSummary           = api.RemovalHoldSummary
	HeldView              = api.RemovalHold
	HeldMember            = api.HeldMember
	HeldAdditions         = api.AdditionHoldSummary
	AdditionsView         = api.AdditionHold
	AdditionStart         = api.AdditionStart
	HeldAddition          = api.HeldAddition
	AdditionsConfirmation = api.AdditionsConfirmation
	AutomationView        = api.Automation
	RowProblem            = api.RowProblem
	PreviewView           = api.QueryPreview
	PreviewAdditions      = api.PreviewAdditions
	PreviewGroup          = api.PreviewGroup
	WorkerView            = api.Worker
	ReplicaView           = api.Replica
	WorkerState           = api.WorkerState
	Function              = api.Function
	Parameter             = api.Parameter
	Field                 = api.Field
	AuditView             = api.AuditRecord
	AuditFilter           = api.AuditFilter
	ActorKind             = api.ActorKind
	UnprocessedView       = api.UnprocessedMessage
	UnprocessedStatus     = api.UnprocessedStatus
	DeadLettered          = api.DeadLetter
	Code                  = api.Code
	Problem               = api.InputProblem
	Health                = api.Health
	UploadOption          = api.UploadOption
)

// The codes, statuses and options of the wire types.
const (
	CodeInvalid          = api.CodeInvalid
	CodeNotFound         = api.CodeNotFound
	CodeConflict         = api.CodeConflict
	CodeChanged          = api.CodeChanged
	CodeKeyReused        = api.CodeKeyReused
	CodeTooLarge         = api.CodeTooLarge
	CodeUnstorable       = api.CodeUnstorable
	CodeFull             = api.CodeFull
	CodeUnavailable      = api.CodeUnavailable
	CodeSourceAway       = api.CodeSourceAway
	CodeInternal         = api.CodeInternal
	OverdueIgnore        = api.OverdueIgnore
	OverdueRerun         = api.OverdueRerun
	AllowInOtherBatches  = api.AllowInOtherBatches
	ActorUser            = api.ActorUser
	ActorApplication     = api.ActorApplication
	ActorSystem          = api.ActorSystem
	WorkerAlive          = api.WorkerAlive
	WorkerScaledToZero   = api.WorkerScaledToZero
	WorkerSilent         = api.WorkerSilent
	WorkerGone           = api.WorkerGone
	UnprocessedOpen      = api.UnprocessedOpen
	UnprocessedReplayed  = api.UnprocessedReplayed
	UnprocessedDiscarded = api.UnprocessedDiscarded
	MaxWhy               = api.MaxReason
	actReadMembers       = api.ActionReadMembers
	actReadSteps         = api.ActionReadSteps
	actReadReport        = api.ActionReadReport
	actReadRemovals      = api.ActionReadRemovals
	actReadAdditions     = api.ActionReadAdditions
	actReadMessage       = api.ActionReadMessage
	actReadProblems      = api.ActionReadProblems
	actPreviewQuery      = api.ActionPreviewQuery
)
