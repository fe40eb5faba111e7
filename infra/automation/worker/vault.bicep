// The secrets of the vault that the worker may read: its credential for the target tenant and few
// others. The private key of a certificate is read as a secret. The worker has a role on each secret,
// because the vault also has the secrets of data sources.

@description('Name of the vault, in this resource group.')
param vaultName string

@description('Names of the secrets; empty: the whole vault.')
param secretNames array

@description('Name of the worker\'s identity.')
param workerIdentityName string

@description('Object id of the worker\'s identity.')
param workerPrincipalId string

var roles = {
  'Key Vault Secrets User': '4633458b-17de-408a-b874-0445c86b69e6'
}

resource vault 'Microsoft.KeyVault/vaults@2025-05-01' existing = {
  name: vaultName
}

resource secrets 'Microsoft.KeyVault/vaults/secrets@2025-05-01' existing = [
  for secret in secretNames: {
    parent: vault
    name: secret
  }
]

resource readSecret 'Microsoft.Authorization/roleAssignments@2022-04-01' = [
  for (secret, i) in secretNames: {
    name: guid(secrets[i].id, workerIdentityName, roles['Key Vault Secrets User'])
    scope: secrets[i]
    properties: {
      principalId: workerPrincipalId
      principalType: 'ServicePrincipal'
      roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', roles['Key Vault Secrets User'])
    }
  }
]

resource readVault 'Microsoft.Authorization/roleAssignments@2022-04-01' = if (empty(secretNames)) {
  name: guid(vault.id, workerIdentityName, roles['Key Vault Secrets User'])
  scope: vault
  properties: {
    principalId: workerPrincipalId
    principalType: 'ServicePrincipal'
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', roles['Key Vault Secrets User'])
  }
}
