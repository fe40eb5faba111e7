package catalog

// SendMemberMail mails a person of a batch. Package notify carries it out, like the functions after it.
var SendMemberMail = Function{
	Name: "Send-MemberMail",
	Description: "Sends a mail to one person, in the person's language, from the mailbox in the worker's setting MAIL_FROM. Only domains in the worker's setting MAIL_DOMAINS " +
		"get mail; without these settings the function fails. Succeeds when Exchange Online has accepted the mail. A retry, a lost response or a crash of the worker can send the mail twice. " +
		"Copies have the same x-matoolkit-effect header.",
	Params: []Param{
		{Name: "To", Type: Email, Required: true, Description: "Address of the person, such as {{Mail}}."},
		{Name: "Texts", Type: Object, Required: true, Description: "Texts by language: {en: {Subject: Your move, Body: Dear {{Name}}}, de: {Subject: Ihr Umzug, Body: Guten Tag {{Name}}}}."},
		{Name: "Language", Type: String, Description: "Language of the person, such as de-CH, for which de will do. Default: DefaultLanguage."},
		{Name: "DefaultLanguage", Type: String, Description: "Language of people for whose language there is no text. Default: en."},
		{Name: "Format", Type: OneOf("text", "html"), Description: "Format of the bodies. In html, end each variable in a body with the filter html, such as {{Name | html}}: its value could add markup otherwise. Default: text."},
	},
	Result: []Field{{"Language", "Language of the text that was sent."}},
	Errors: []Error{
		{FailureParameters, "To is no single address, or Texts has no text for DefaultLanguage, an unknown language or part, or an incomplete text.", "Correct the parameter."},
		{FailureNotConfigured, "MAIL_FROM or MAIL_DOMAINS is not set, or has no domain of the recipient.", "Set it at the worker, or leave the person out."},
	},
	Permissions: []string{"Mail.Send"},
	Repeated:    "A worker that still knows the job sends no second mail. A worker that was restarted, or received no response, sends a copy, which has the same x-matoolkit-effect header.",
}

// SendWebhookMessage posts a message.
var SendWebhookMessage = Function{
	Name: "Send-WebhookMessage",
	Description: "Posts a message to a webhook, or to a channel of Teams through a workflow. The address and the key are in settings of the worker that WEBHOOK_SETTINGS names. " +
		"Give Title for a card of Teams, or Body for JSON. Posts are as those of notifications: signed with the key as Standard Webhooks describes, without redirects. " +
		"The header webhook-id is the same for each repetition: let the receiver drop an id that it has seen.",
	Params: []Param{
		{Name: "UrlSetting", Type: String, Required: true, Description: "Name of the setting with the https address."},
		{Name: "KeySetting", Type: String, Description: "Name of the setting with the key: 24 to 64 bytes in base64. Default: the post is not signed."},
		{Name: "Title", Type: String, Description: "Title of an Adaptive Card for a workflow of Teams."},
		{Name: "Text", Type: String, Description: "Text of the card, which is shown as it is. Default: the title alone."},
		{Name: "Body", Type: Object, Description: "JSON that is posted as it is, instead of a card."},
	},
	Errors: []Error{
		{FailureParameters, "None or both of Title and Body are given, or Text is given with Body.", "Give one of them."},
		{FailureNotConfigured, "WEBHOOK_SETTINGS does not name the setting, or the address or key is missing or not valid.", "Set it at the worker."},
		{"HTTP 3xx", "The receiver redirects, such as HTTP 302, which the function does not follow.", "Set the address to which it redirects."},
		{"HTTP 4xx", "The receiver refuses the message, with a status such as HTTP 404; it is not repeated.", "Correct the address, the key or the message at the receiver."},
		{"HTTP 5xx", "The receiver answers with an error such as HTTP 500 after repetitions. Throttling is HTTP 429, or 503 with Retry-After.", "Retry the step: the receiver knows a repetition by its webhook-id."},
	},
	Permissions: []string{"None in the tenant"},
	Repeated: "The message is posted again, with the same webhook-id and body: also when the receiver took it and the answer was lost, the worker was killed meanwhile, or two workers have the job. " +
		"A receiver that drops an id that it has seen gets it once. A workflow of Teams does not: it shows the message twice.",
}
