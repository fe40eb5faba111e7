// The vault of the worker's certificate and of other secrets, which are put in by hand
// or by a workflow: no template knows them.
//
// Purge protection is for good. A vault that is deleted, also with its resource group,
// stays recoverable and keeps its name until the days of soft delete are over: until
// then a deployment under that name has to recover it (recoverVault).

@description('Name of the vault.')
@minLength(3)
@maxLength(24)
param vaultName string

@description('Region of the vault.')
param location string

@description('Tags of the vault and its private endpoint.')
param tags object

@description('To be reached at a private endpoint, and from allowed addresses only; else at its public address.')
param privateNetwork bool

@description('Addresses that are let in besides the private endpoint: IPv4, single or as CIDR ranges.')
param allowedAddresses array

@description('For how many days a deleted secret or vault can be recovered. It cannot be changed once the vault is there.')
@minValue(7)
@maxValue(90)
param softDeleteDays int

@description('True for one deployment: recover the deleted vault of this name instead of making one.')
param recoverVault bool

@description('Object ids of users, groups or service principals that put certificates and secrets into the vault.')
param vaultOfficers array

@description('Resource id of the subnet of private endpoints; empty in the public mode.')
param privateEndpointSubnetId string

@description('Name of the private endpoint.')
param privateEndpointName string

@description('Resource id of the workspace that takes the logs.')
param workspaceId string

var roles = {
  'Key Vault Certificates Officer': 'a4417e6f-fecd-4de8-b567-7b0420556985'
  'Key Vault Secrets Officer': 'b86a8fe4-44ce-4948-aee5-eccb2c155cd7'
}

resource vault 'Microsoft.KeyVault/vaults@2025-05-01' = {
  name: vaultName
  location: location
  tags: tags
  properties: {
    createMode: recoverVault ? 'recover' : 'default'
    tenantId: tenant().tenantId
    sku: {
      family: 'A'
      name: 'standard'
    }
    // Roles, not access policies: who may read what is seen in one place.
    enableRbacAuthorization: true
    enableSoftDelete: true
    softDeleteRetentionInDays: softDeleteDays
    enablePurgeProtection: true
    // Disabled altogether unless somebody outside has to get in.
    publicNetworkAccess: privateNetwork && empty(allowedAddresses) ? 'Disabled' : 'Enabled'
    networkAcls: {
      bypass: 'AzureServices'
      defaultAction: privateNetwork ? 'Deny' : 'Allow'
      ipRules: [
        for address in allowedAddresses: {
          value: address
        }
      ]
    }
  }
}

resource certificatesOfficer 'Microsoft.Authorization/roleAssignments@2022-04-01' = [
  for principal in vaultOfficers: {
    name: guid(vault.id, principal, roles['Key Vault Certificates Officer'])
    scope: vault
    properties: {
      principalId: principal
      roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', roles['Key Vault Certificates Officer'])
    }
  }
]

resource secretsOfficer 'Microsoft.Authorization/roleAssignments@2022-04-01' = [
  for principal in vaultOfficers: {
    name: guid(vault.id, principal, roles['Key Vault Secrets Officer'])
    scope: vault
    properties: {
      principalId: principal
      roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', roles['Key Vault Secrets Officer'])
    }
  }
]

module endpoint 'private-endpoint.bicep' = if (privateNetwork) {
  name: privateEndpointName
  params: {
    endpointName: privateEndpointName
    location: location
    tags: tags
    subnetId: privateEndpointSubnetId
    targetId: vault.id
    groupId: 'vault'
    zoneName: 'privatelink.vaultcore.azure.net'
  }
}

// Who read which secret, and who was refused.
#disable-next-line use-recent-api-versions
resource diagnostics 'Microsoft.Insights/diagnosticSettings@2021-05-01-preview' = {
  name: 'log-analytics'
  scope: vault
  properties: {
    workspaceId: workspaceId
    logAnalyticsDestinationType: 'Dedicated'
    logs: [
      {
        category: 'AuditEvent'
        enabled: true
      }
    ]
    metrics: [
      {
        category: 'AllMetrics'
        enabled: true
      }
    ]
  }
}

@description('Address of the vault, for KEY_VAULT_URL.')
output vaultUri string = vault.properties.vaultUri
