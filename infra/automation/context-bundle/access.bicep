// The role to read and write the artifacts, on their container only.

@description('Name of the storage account, in this resource group.')
param accountName string

@description('Name of the container.')
param containerName string

@description('Name of the identity, from which the name of the role assignment is derived.')
param identityName string

@description('Object id of the identity.')
param principalId string

var roles = {
  storageBlobDataContributor: 'ba92f5b4-2d11-453d-a403-e96b0029c9fe'
}

resource account 'Microsoft.Storage/storageAccounts@2025-01-01' existing = {
  name: accountName
}

resource blobs 'Microsoft.Storage/storageAccounts/blobServices@2025-01-01' existing = {
  parent: account
  name: 'default'
}

resource container 'Microsoft.Storage/storageAccounts/blobServices/containers@2025-01-01' existing = {
  parent: blobs
  name: containerName
}

resource write 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  name: guid(container.id, identityName, roles.storageBlobDataContributor)
  scope: container
  properties: {
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', roles.storageBlobDataContributor)
    principalId: principalId
    principalType: 'ServicePrincipal'
  }
}
