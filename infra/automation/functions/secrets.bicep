// The secrets of the Key Vault that the Functions app may read. It has a role on each, not on the
// vault, which also has the certificates of workers.

@description('Name of the Key Vault.')
param vaultName string

@description('Names of the secrets, which must exist.')
@minLength(1)
param secretNames array

@description('Name of the app\'s identity, from which the names of role assignments are derived.')
param identityName string

@description('Object id of the app\'s identity.')
param principalId string

var roles = {
  keyVaultSecretsUser: '4633458b-17de-408a-b874-0445c86b69e6'
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

resource access 'Microsoft.Authorization/roleAssignments@2022-04-01' = [
  for (secret, i) in secretNames: {
    name: guid(secrets[i].id, identityName, roles.keyVaultSecretsUser)
    scope: secrets[i]
    properties: {
      roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', roles.keyVaultSecretsUser)
      principalId: principalId
      principalType: 'ServicePrincipal'
    }
  }
]
