-- The state of batches and runbooks. The handler creates it when it starts, if its role may; otherwise
-- an administrator runs this file once in the schema that the role's search_path begins with.

-- A partition: its row is the lock of a transaction that writes in it, and numbers the versions of its
-- documents. A row stays when the last document is deleted, so that no version has a number twice.
CREATE TABLE IF NOT EXISTS partitions (
	pk      text COLLATE "C" PRIMARY KEY,
	version bigint NOT NULL
);

-- A document as it was written, and in fields what queries filter by, sort by or return alone.
CREATE TABLE IF NOT EXISTS documents (
	pk      text COLLATE "C" NOT NULL,
	id      text COLLATE "C" NOT NULL,
	type    text COLLATE "C" NOT NULL,
	version bigint NOT NULL,
	doc     json NOT NULL,
	fields  jsonb NOT NULL,
	PRIMARY KEY (pk, id)
);

CREATE INDEX IF NOT EXISTS documents_type ON documents (pk, type, id);
CREATE INDEX IF NOT EXISTS documents_status ON documents (pk, type, (fields->>'status'));
CREATE INDEX IF NOT EXISTS documents_page ON documents (pk, type, (fields->'page')) WHERE fields->'page' IS NOT NULL;
CREATE INDEX IF NOT EXISTS documents_phase ON documents (pk, type, (fields->'phaseId'), (fields->>'status')) WHERE fields->'phaseId' IS NOT NULL;
CREATE INDEX IF NOT EXISTS documents_member ON documents (pk, type, (fields->'memberId')) WHERE fields->'memberId' IS NOT NULL;
CREATE INDEX IF NOT EXISTS documents_key ON documents (pk, type, md5(fields->>'key')) WHERE fields->>'key' IS NOT NULL;
CREATE INDEX IF NOT EXISTS documents_wake ON documents (pk, type, ((fields->>'wakeAt') COLLATE "C")) WHERE fields->>'wakeAt' IS NOT NULL;
CREATE INDEX IF NOT EXISTS documents_deadline ON documents (pk, ((fields->>'deadlineAt') COLLATE "C")) WHERE fields->>'deadlineAt' IS NOT NULL;
CREATE INDEX IF NOT EXISTS documents_worker ON documents (pk, (fields->>'worker'), ((fields->>'sentAt') COLLATE "C")) WHERE fields->>'worker' IS NOT NULL;
CREATE INDEX IF NOT EXISTS documents_paused ON documents (pk) WHERE fields->>'pausedAt' IS NOT NULL;
CREATE INDEX IF NOT EXISTS documents_leaving ON documents (pk) WHERE fields->>'leaving' IS NOT NULL;
CREATE INDEX IF NOT EXISTS documents_creating ON documents (pk) WHERE fields->>'creating' IS NOT NULL;
CREATE INDEX IF NOT EXISTS documents_detached ON documents (pk) WHERE fields->>'openDetached' IS NOT NULL;
CREATE INDEX IF NOT EXISTS documents_erase ON documents (pk, ((fields->>'eraseSecretsAt') COLLATE "C")) WHERE fields->>'eraseSecretsAt' IS NOT NULL;
CREATE INDEX IF NOT EXISTS documents_expiry ON documents (pk, ((fields->>'expiresAt') COLLATE "C")) WHERE fields->>'expiresAt' IS NOT NULL;
CREATE INDEX IF NOT EXISTS documents_completed ON documents (pk, ((fields->>'completedAt') COLLATE "C")) WHERE fields->>'completedAt' IS NOT NULL;
CREATE INDEX IF NOT EXISTS documents_place ON documents (pk, type, ((fields->>'place') COLLATE "C"), id) WHERE fields->>'place' IS NOT NULL;

COMMENT ON TABLE documents IS 'matoolkit schema 1';
