// Package logkey has the keys of log records. A key means the same in every program, and
// queries of logs and alerts search for it.
package logkey

// What a record is about.
const (
	Event           = "Event"     // names a record that alerts look for
	EventType       = "EventType" // the type of an event of the engine
	BatchID         = "BatchId"
	Runbook         = "RunbookName"
	RunbookVersion  = "RunbookVersion"
	FromVersion     = "FromVersion"
	ToVersion       = "ToVersion"
	Phase           = "Phase"
	MemberID        = "MemberId"
	RunID           = "RunId"
	StepExecutionID = "StepExecutionId"
	JobID           = "JobId"
	Function        = "Function"
	WorkerID        = "WorkerId"
	Task            = "Task" // work on a batch that goes on in pages
	Topic           = "Topic"
	Subscription    = "Subscription"
	Secrets         = "Secrets"         // the names of secret variables
	MessageID       = "MessageId"       // the id that the broker knows a message by
	UnprocessableID = "UnprocessableId" // the id of an unprocessable message in the list
	Type            = "Type"            // of a message or an error
	InvocationID    = "InvocationId"
	TraceID         = "TraceId"
	Part            = "Part" // of the system, in a health check
	ContainerGroup  = "ContainerGroup"
	API             = "Api"
	Route           = "Route"
	Method          = "Method"
	Variable        = "Variable"   // an environment variable
	Credential      = "Credential" // which one, never its value
	TenantID        = "TenantId"   // the tenant of a caller
	KeyID           = "KeyId"      // of a key that signs tokens
	Before          = "Before"     // the credential that came before
	Scope           = "Scope"      // of a token
)

// What happened, and why.
const (
	Error       = "Error"
	Reason      = "Reason"
	Remedy      = "Remedy" // what an administrator can do
	Panic       = "Panic"
	Stack       = "Stack"
	By          = "By" // the caller's name
	Action      = "Action"
	Target      = "Target"
	Selection   = "Selection" // of members, as a caller asked for it
	Status      = "Status"    // of an HTTP response
	CallerGone  = "CallerGone"
	Enabled     = "Enabled"
	Repeated    = "Repeated" // the request came before
	Failed      = "Failed"
	IsThrottled = "IsThrottled"
	Stopping    = "Stopping"
	Line        = "Line" // of a function's output
)

// Counts and sizes.
const (
	Count          = "Count"
	Batches        = "Batches"
	Members        = "Members"
	Of             = "Of" // how many there are, beside a part of them
	Added          = "Added"
	Created        = "Created"
	Deleted        = "Deleted"
	Active         = "Active"
	Present        = "Present"
	Rows           = "Rows"
	Messages       = "Messages"
	Jobs           = "Jobs"
	Results        = "Results"
	Functions      = "Functions"
	Lines          = "Lines"
	Skipped        = "Skipped"
	Page           = "Page"
	SilentWorkers  = "SilentWorkers"
	DeliveryCount  = "DeliveryCount"
	Attempt        = "Attempt"  // of the handler at a message
	Attempts       = "Attempts" // of a function at a call
	Tries          = "Tries"    // deliveries that began a job
	Limit          = "Limit"
	MaxParallelism = "MaxParallelism"
	Revision       = "Revision"
	Version        = "Version" // of a program
	Port           = "Port"
	Address        = "Address"
	Graph          = "Graph"    // its URL
	Exchange       = "Exchange" // its URL
)

// Times.
const (
	Start          = "Start" // of a batch
	Until          = "Until"
	ExpiresAt      = "ExpiresAt"
	RevokedThrough = "RevokedThrough"
	Duration       = "Duration"
	DurationMs     = "DurationMs"
	After          = "After"
	Delay          = "Delay"
	Grace          = "Grace"
	IdleTimeout    = "IdleTimeout"
	ClockOffset    = "ClockOffset"
	AgeSeconds     = "AgeSeconds"
	OldestSeconds  = "OldestSeconds"
)
