// Package bicep reads the Bicep templates under infra/ where no Bicep compiler is installed.
// See infra/README.md for why it exists and for what it does not do.
//
// Parse reads one file into a tree. Deploy evaluates a template with its modules and returns
// the resources that it creates, with every property. ResourceTypes.Check compares such a
// resource with the schema of its type in Azure.
//
// The language is the part of Bicep that infra/ uses: parameters, variables, resources
// (existing, with a condition, in a loop), modules of local files and outputs, with the types
// string, int, bool, array and object. Everything else is a syntax error.
package bicep
