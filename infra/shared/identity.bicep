// A user-assigned managed identity.
//
// It is a module of its own so that its principal is known before roles are given to it:
// a role assignment then has a name that follows from the principal. An identity that was
// deleted and made again gets assignments of its own, instead of being refused because
// those of its predecessor cannot be changed.

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

@description('Resource id, by which resources are given the identity.')
output id string = identity.id

@description('Object id, to which roles are given.')
output principalId string = identity.properties.principalId

@description('Client id, by which a program says which identity it means.')
output clientId string = identity.properties.clientId
