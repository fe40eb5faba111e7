// Package tds is a SQL Server on loopback for tests, as far as a client can tell that
// signs in, runs a query and reads its rows: it speaks the Tabular Data Stream protocol
// to the real driver, and gives the results that a test has put into it by the text of
// the query. It knows no SQL.
//
// It follows [MS-TDS], by section: packets (2.2.3), PRELOGIN and the TLS handshake in
// packets of its type (2.2.6.5, 3.3.5.2), TLS first as TDS 8.0 has it, LOGIN7 with the
// feature extension FEDAUTH of both libraries, security token and Active Directory
// (2.2.6.4, 2.2.6.3, 2.2.7.12), SQLBatch (2.2.6.7), transaction manager requests to
// begin, commit and roll back (2.2.6.9), sessions that begin anew (2.2.3.1.2), Attention (2.2.1.7), ALL_HEADERS (2.2.5.3), the
// data types (2.2.5.4, 2.2.5.5) and the tokens COLMETADATA, ROW, NBCROW, DONE, ERROR,
// ENVCHANGE, LOGINACK, FEATUREEXTACK and FEDAUTHINFO (2.2.7). Protocol version 7.4 and
// 8.0 only.
//
// What it does not understand, it refuses with an error that says so and ends the
// connection: remote procedure calls, bulk loads, SSPI, several result sets at once
// (MARS), other features and other versions. [Server.Refused]
// lists that, so that a test sees it also where the client swallowed the error.
//
// It was written from the published protocol and from what go-mssqldb sends. It was not
// compared with a SQL Server, with Azure SQL or with Dataverse. The numbers of errors
// are those of SQL Server; the test gives their texts.
//
// [MS-TDS]: https://learn.microsoft.com/openspecs/windows_protocols/ms-tds
package tds
