package runbook

// Object is one mapping of the format: its fields in the order of the reference. The parser
// refuses fields that are not listed. docs/reference/runbook.md and the JSON Schema are generated
// from this.
type Object struct {
	Name   string // the path of the mapping, such as phases[].steps[].poll
	Doc    string
	Fields []Field
	// Rules are the conditions between fields.
	Rules []Form
}

// Field is one field of an Object.
type Field struct {
	Name     string
	Required bool // in every mapping of this kind; Doc names conditions
	Doc      string
	Form     Form // of the value
}

// names are the names of the object's fields, without or with the optional ones.
func (o Object) names(requiredOnly bool) []string {
	var names []string
	for _, f := range o.Fields {
		if f.Required || !requiredOnly {
			names = append(names, f.Name)
		}
	}
	return names
}

// Format returns the objects of the format, the file itself first.
func Format() []Object {
	return []Object{
		fileObject, sourceObject, listObject, workbookObject, itemsObject, itemSourceObject, columnObject, additionsObject, quietObject, windowObject,
		checkObject, phaseObject, stopObject, stepObject, pollObject, cacheObject, retryObject,
	}
}

var fileObject = Object{
	Name: "runbook", Doc: "The YAML file.",
	Fields: []Field{
		{"name", true, "Letters, digits, `-`, `_` and `.`, at most 100. A name that ends in `.yaml` or `.yml` causes a warning.", matching(runbookName)},
		{"description", false, "Text for people.", text()},
		{"data_source", false, "Where the members come from. Required without `trigger`, refused with it.", sourceObject.form()},
		{"trigger", false, "`request`: a request to the API starts each batch at once, and brings its items.", oneOf(TriggerRequest)},
		{"items", false, "What such a request brings. Required with `trigger: request`, refused without it.", itemsObject.form()},
		{"vars", false, "Constants by their names: text, numbers, `true`, `false`, or lists of these; at most 100. Templates, conditions and worker ids use them like variables.", varsForm()},
		{"quiet_hours", false, "When no phase of an automated batch starts.", quietObject.form()},
		{"retry", false, "The retry policy of every step that has no `retry` of its own.", retryObject.form()},
		{"display", false, "The column that is shown for a member beside the key, such as a name. It is not secret, and not multi-valued. Members can lack it.", columnForm()},
		{"secret", false, "A list of at most 100 columns and outputs. Their values are stored encrypted and never shown.", unique(list(columnForm(), 0, maxSecrets))},
		{"checks", false, "Calls that only read, which find out before the first phase what would fail.", list(checkObject.form(), 0, MaxSteps)},
		{"init", false, "Steps that run once per batch, before its phases. They have no member.", list(both(stepObject.form(), without("output_params"), attached()), 0, MaxSteps)},
		{"phases", true, "A list of 1 to 200 phases.", list(phaseObject.form(), 1, MaxPhases)},
		{"on_member_removed", false, "Steps that run for a member who leaves the batch.", list(both(stepObject.form(), attached(), absent("cache")), 0, MaxSteps)},
		{"rollbacks", false, "Named lists of steps. A step names one in `on_failure`.", named(title(), list(both(stepObject.form(), absent("on_failure", "cache"), attached()), 1, MaxSteps))},
	},
	Rules: []Form{
		when(requires("trigger"), both(requires("items"), absent("data_source"), eachPhase(absent("offset")))),
		when(absent("trigger"), both(requires("data_source"), absent("items"), eachPhase(requires("offset")))),
	},
}

var sourceObject = Object{
	Name: "data_source", Doc: "A source with a `connection` is queried every five minutes. For a `csv` source without one, you upload the members of each batch.",
	Fields: []Field{
		{"type", true, "`dataverse`, `databricks`, `sql`, `postgres`, `csv` or `graph`.", oneOf(sourceTypes...)},
		{"connection", false, "The name of the handler's environment variable with the connection string, the URL or, for `csv`, the path or URL of the file. Required for all types except `csv`. The deployment lists the permitted names in `DATA_SOURCES`.", matching(environmentName)},
		{"warehouse_id", false, "The name of the environment variable with the id of the SQL warehouse. Required for `databricks`, refused for other types.", matching(environmentName)},
		{"query", false, "The query that returns the members. Required for `dataverse`, `databricks`, `sql` and `postgres`, refused for `graph`. A `csv` is read as a whole.", text()},
		{"groups", false, "For `graph`: the object ids of 1 to 50 groups. Their direct members who are users are the people. A `graph` needs one of `groups`, `users`, `list` and `workbook`; other types have none.", unique(list(matching(objectID), 1, maxGroups))},
		{"users", false, "For `graph`: a `$filter` of Microsoft Graph that selects users, such as `department eq 'Sales' and userType eq 'Member'`.", text()},
		{"list", false, "For `graph`: a SharePoint list.", listObject.form()},
		{"workbook", false, "For `graph`: a sheet of an Excel file.", workbookObject.form()},
		{"columns", false, "For `graph` with `groups`, `users` or `list`, and required there: the names of columns, each with the property that its values come from: one of a user (`displayName`), one within it (`onPremisesExtensionAttributes/extensionAttribute1`), with `groups` one of the group (`group/displayName`), or the internal name of a field of the list.", columnsForm()},
		{"primary_key", true, "The column that identifies a member.", columnForm()},
		{"batch_time_column", false, "The column with the start time of the member's batch. Rows with the same time form a batch. A queried source needs this field or `batch_time`.", columnForm()},
		{"batch_time", false, "`immediate`: new members form a batch that starts at once.", oneOf(BatchTimeImmediate)},
		{"time_zone", false, "The IANA time zone of batch times without a zone, such as `Europe/Berlin`. Default: UTC.", matching(zoneName)},
		{"multi_valued_columns", false, "A list of at most 500 columns that hold lists.", list(columnObject.form(), 0, maxColumns)},
		{"timeout", false, "The longest time of the query: `1s` to `8m`. Default: `2m`.", durationForm()},
		{"removal_guard", false, "The largest share of a batch that one result may remove without confirmation: more than `0%`, up to `100%`. Default: `20%`. One member of a batch can always leave. When more than 10 people leave at once, the share holds for the members of all batches, too.", percentForm()},
		{"addition_guard", false, "How many people one result may add without confirmation.", additionsObject.form()},
	},
	Rules: []Form{
		when(has("type", SourceDataverse, SourceSQL, SourcePostgres), requires("connection", "query")),
		when(has("type", SourceDatabricks), requires("connection", "query", "warehouse_id")),
		when(has("type", SourceDataverse, SourceSQL, SourcePostgres, SourceCSV, SourceGraph), absent("warehouse_id")),
		when(has("type", SourceDataverse, SourceSQL, SourcePostgres, SourceCSV, SourceDatabricks), absent(append(peopleFields, "columns")...)),
		when(has("type", SourceGraph), both(requires("connection"), absent("query"), oneRequired(peopleFields...))),
		when(both(has("type", SourceGraph), either(requires("groups"), requires("users"), requires("list"))), requires("columns")),
		when(both(has("type", SourceGraph), requires("workbook")), absent("columns")),
		when(either(requires("connection"), has("type", SourceDataverse, SourceSQL, SourcePostgres, SourceDatabricks, SourceGraph)), either(requires("batch_time"), requires("batch_time_column"))),
		when(both(has("type", SourceCSV), absent("connection")), absent("time_zone", "timeout", "removal_guard", "addition_guard")),
		when(requires("batch_time"), absent("batch_time_column", "time_zone")),
	},
}

var columnObject = Object{
	Name: "data_source.multi_valued_columns[]", Doc: "The column's text becomes a list. Spaces around an element and empty elements are dropped.",
	Fields: []Field{
		{"name", true, "The column. It is neither the primary key nor the batch time.", columnForm()},
		{"format", true, "`semicolon_delimited` (`a; b`), `comma_delimited` (`a, b`) or `json_array` (`[\"a\", 1]`).", oneOf(columnFormats...)},
	},
}

var additionsObject = Object{
	Name: "data_source.addition_guard", Doc: "Additions above one of the limits wait for an administrator. At least one field is required.",
	Fields: []Field{
		{"share", false, "More than 10 people and more than this share of the members of the runbook's open batches. More than `0%`, up to `100%`, which means no limit. Default: `20%`.", percentForm()},
		{"number", false, "More people than this: 1 to 1000000. Default: `100`.", countForm(1, MaxAdditions)},
	},
	Rules: []Form{{"minProperties": 1}},
}

var quietObject = Object{
	Name: "quiet_hours", Doc: "A phase that is due in quiet hours starts when they end. Work that has begun continues. A phase that you advance by hand starts at once.",
	Fields: []Field{
		{"time_zone", true, "An IANA time zone, such as `Europe/Berlin`.", matching(zoneName)},
		{"windows", true, "1 to 50 windows. They may overlap and must not cover the whole week.", list(windowObject.form(), 1, maxWindows)},
	},
}

var windowObject = Object{
	Name: "quiet_hours.windows[]", Doc: "A window includes `from` and excludes `to`, by the local clock.",
	Fields: []Field{
		{"days", false, "The days on which the window begins: `mon`, `tue`, `wed`, `thu`, `fri`, `sat`, `sun`. Default: every day.", unique(list(oneOf(dayNames...), 1, len(dayNames)))},
		{"from", true, "`\"00:00\"` to `\"23:59\"`.", both(matching(timeOfDay), Form{"not": oneOf("24:00")})},
		{"to", true, "Up to `\"24:00\"`. A time that is not after `from` is on the next day.", matching(timeOfDay)},
	},
}

var phaseObject = Object{
	Name: "phases[]", Doc: "Each member goes through the steps at their own pace. A member who failed takes no part in later phases.",
	Fields: []Field{
		{"name", true, "Unique among the phases, and not `init` or `checks`.", both(title(), Form{"not": Form{"pattern": "^([Ii][Nn][Ii][Tt]|[Cc][Hh][Ee][Cc][Kk][Ss])$"}})},
		{"offset", false, "Required, but refused with `trigger: request`: those phases begin one after the other. When the phase is due, relative to the batch start: `T-5d`, `T-4h`, `T-30m`, `T-90s`, `T-0`, `T+1d`. Seconds are rounded up to whole minutes, away from the start.", matching(offsetText)},
		{"steps", true, "A list of 1 to 500 steps for each member.", stepsForm(1)},
		{"when", false, "A [condition](#conditions). A member for whom it is false when they come to the phase counts as done with it.", text()},
		{"approval", false, "`required`: the phase waits until an administrator approves it. `second_person`: one who did not create the batch, did not move its start last and does not start the phase.", oneOf(ApprovalRequired, ApprovalSecondPerson)},
		{"require_success", false, "The phase waits until this share of the previous phase's members succeeded: more than `0%`, up to `100%`. An approval overrides it. Refused on the first phase.", percentForm()},
		{"stop_when", false, "Pauses the batch when too many members fail.", stopObject.form()},
		{"on_complete", false, "Steps that run once, when every member of the phase has ended. The phase fails if they fail, unless they are detached.", list(stepObject.form(), 0, MaxSteps)},
	},
}

var stopObject = Object{
	Name: "phases[].stop_when", Doc: "",
	Fields: []Field{
		{"failed", true, "A share of the phase's members (`10%`), or a number of them (1 to 1000000).", either(percentForm(), countForm(1, maxStopCount))},
	},
}

var stepObject = Object{
	Name: "steps", Doc: "One call of a worker's function. `init`, `phases[].steps`, `phases[].on_complete`, `on_member_removed` and each of the `rollbacks` are lists of steps.",
	Fields: []Field{
		{"name", true, "Unique in its list, printable, without `/`, `\\`, `?` and `#`, at most 100 bytes.", title()},
		{"worker_id", true, "The worker: letters, digits, `-`, `_` and `.`, at most 43. No template but of `vars`.", either(matching(workerID), Form{"type": "string", "pattern": `\{\{`})},
		{"function", true, "The name of the function, or a template of it.", either(matching(functionName), Form{"type": "string", "pattern": `\{\{`})},
		{"when", false, "A [condition](#conditions). If it is false when the step is due, the step and its rollback are skipped.", text()},
		{"params", false, "The parameters: JSON values of any type, nested at most 32 deep. Strings are templates.", named(Form{"minLength": 1, "maxLength": maxKey}, Form{})},
		{"output_params", false, "Variable to field of the function's result. The step fails if the result lacks the field. Refused in `init`.", named(Form{"pattern": outputName.String()}, both(text(), Form{"not": Form{"pattern": `\{\{`}}))},
		{"on_failure", false, "The rollback that runs when the step has failed and no retry is left. Refused in a rollback.", text()},
		{"poll", false, "For functions that answer `{\"complete\": false}` until they are done.", pollObject.form()},
		{"retry", false, "Replaces the runbook's `retry` as a whole.", retryObject.form()},
		{"cache", false, "The result is used again, also in other batches. Refused with `on_failure`, in `on_member_removed` and in a rollback.", cacheObject.form()},
		{"detached", false, "`true`: nothing waits for the step. Only in `on_complete`, where the steps behind it are detached, too. See [Detached steps](../write-a-runbook.md#detached-steps). Default: `false`.", Form{"type": "boolean"}},
		{"timeout", false, "The longest time from dispatch to result. Time in which the worker is busy with earlier jobs does not count. Default: `30m`.", durationForm()},
	},
	Rules: []Form{when(requires("cache"), absent("on_failure"))},
}

var pollObject = Object{
	Name: "steps.poll", Doc: "The function is called again until it answers `{\"complete\": true, \"data\": …}`.",
	Fields: []Field{
		{"interval", true, "The time between two calls. Not longer than `timeout`.", durationForm()},
		{"timeout", true, "The longest time since the first answer. The step then fails, without a retry.", durationForm()},
	},
}

var retryObject = Object{
	Name: "retry", Doc: "The policy of the runbook, or of one step. A step's policy replaces the runbook's.",
	Fields: []Field{
		{"max_retries", true, "0 to 1000000. More than 100 cause a warning.", countForm(0, maxRetries)},
		{"interval", false, "The first delay. More than `24h` causes a warning. Required unless `max_retries` is 0.", durationForm()},
		{"backoff", false, "`fixed`: all delays are `interval`. `exponential`: each delay is twice the previous one. Default: `fixed`.", oneOf(backoffs...)},
		{"max_interval", false, "The longest delay with `exponential`: at least `interval`. More than `24h` causes a warning. Default: `24h`, or `interval` if that is longer.", durationForm()},
		{"jitter", false, "A whole percentage from `0%` to `100%`. Each delay is longer by a random part of this share. Default: `0%`.", matching(jitterText)},
	},
	Rules: []Form{
		when(Form{"properties": Form{"max_retries": Form{"type": "integer", "minimum": 1}}, "required": []any{"max_retries"}}, requires("interval")),
		when(Form{"not": has("backoff", BackoffExponential)}, absent("max_interval")),
	},
}
