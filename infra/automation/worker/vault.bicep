// The worker reads the vault: the certificate or secret that it signs in to the target
// tenant with. A certificate's private key is read as a secret.

@description('Name of the vault, in this resource group.')
param vaultName string

@description('Object id of the worker\'s identity.')
param workerPrincipalId string

var roles = {
  'Key Vault Secrets User': '4633458b-17de-408a-b874-0445c86b69e6'
}

resource vault 'Microsoft.KeyVault/vaults@2024-11-01' existing = {
  name: vaultName
}

resource read 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  name: guid(vault.id, workerPrincipalId, roles['Key Vault Secrets User'])
  scope: vault
  properties: {
    principalId: workerPrincipalId
    principalType: 'ServicePrincipal'
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', roles['Key Vault Secrets User'])
  }
}

@description('Address of the vault, without a slash at its end.')
output vaultUri string = 'https://${vault.name}${environment().suffixes.keyvaultDns}'
