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
// that is known only in Azure, it lets pass. It does not see:
//
//   - how many items an array has, so that [1] of one item passes; nor what is inside of
//     parameters of type array and object, in modules and in parameter files;
//   - that two names which are written differently come to the same, or that a condition
//     makes one of two resources of the same name, which it takes on trust;
//   - ids of roles and types of resources in texts, such as the arguments of
//     subscriptionResourceId() (the tests of infra compare roles with their names), whether
//     the name of a role assignment is a GUID, and names that others have taken already;
//   - inserts that are written wrongly but are text, as in '$(name)', unless the name is
//     then used nowhere;
//   - the kinds of what reduce(), groupBy() and first() of unknown values give;
//   - what Azure refuses though its types allow it, such as settings that exclude each other.
//
// It refuses more than the compiler in places, on purpose: what is unused or has no
// description, a child without a parent, a # directive, an object or array anywhere in an
// insert, a value that Azure's types do not list, the least number that 64 bits hold.
//
// Nothing here is safe for concurrent use, but files are independent of each other.
package bicep
