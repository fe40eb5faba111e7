// Package bicep reads the Bicep files under infra/ and finds what is wrong with them
// without a compiler and without Azure.
//
// Parse reads one file into a tree (File), which tests walk to compare what is deployed
// with what the programs expect. Check reads a directory, resolves symbols, modules and
// parameter files, and holds every resource against a snapshot of Azure's resource types
// (directory types). Everything that is wrong is found in one run: a Finding names file,
// line, column, the rule and the cause.
//
// The language is a part of Bicep, chosen for what infra/ needs: parameters, variables,
// resources (existing, with a condition, in a loop), modules of local files and outputs,
// with the types string, int, bool, array and object. What is outside of it is refused
// as a syntax error, for example imports, types of one's own, nested resources and
// spreading. The rules for line breaks are those of Bicep's own parser: a comma or a line
// break separates the items of an array or object, never both.
//
// The authority is Bicep's compiler, which the deployment runs; this package finds most
// mistakes long before that. What it cannot judge, such as the value of an expression
// that is known only in Azure, it lets pass.
//
// Nothing here is safe for concurrent use, but files are independent of each other.
package bicep
