// A user-assigned managed identity.
//
// Role assignments take the object id, which only a deployment finds out, from the output. Their
// names are derived from the name of the identity, so that what-if shows them. An assignment cannot
// change its object id: before you create a deleted identity again, delete its role assignments.

@description('Name of the identity.')
param identityName string

@description('Region of the identity.')
param location string

@description('Tags of the identity.')
param tags object

resource identity 'Microsoft.ManagedIdentity/userAssignedIdentities@2024-11-30' = {
  name: identityName
  location: location
  tags: tags
}

@description('Object id of the identity, for role assignments.')
output principalId string = identity.properties.principalId

@description('Client id of the identity, for AZURE_CLIENT_ID.')
output clientId string = identity.properties.clientId
