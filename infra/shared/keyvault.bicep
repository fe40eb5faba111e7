// The vault of the workers' certificates and other secrets. People or scripts add the secrets; no
// template has them.
//
// Purge protection cannot be turned off. A deleted vault keeps its name until softDeleteDays are
// over; until then a deployment with this name must set recoverVault.

@description('Name of the vault.')
@minLength(3)
@maxLength(24)
param vaultName string

@description('Region of the vault.')
param location string

@description('Tags of the vault and its private endpoint.')
param tags object

@description('True: a private endpoint, and public access only from allowedAddresses. False: a public endpoint.')
param privateNetwork bool

@description('IPv4 addresses or CIDR ranges that may use the public endpoint.')
param allowedAddresses array

@description('Days in which a deleted secret or vault can be recovered. It cannot be changed later.')
@minValue(7)
@maxValue(90)
param softDeleteDays int

@description('True for one deployment: recover the deleted vault of this name.')
param recoverVault bool

@description('Users, groups or service principals that may write certificates and secrets: {id, type} each.')
param vaultOfficers array

@description('Resource id of the subnet of private endpoints; empty in the public mode.')
param privateEndpointSubnetId string

@description('Name of the private endpoint.')
param privateEndpointName string

@description('A lock that prevents the deletion of the vault.')
param deleteLock bool

@description('Resource id of the Log Analytics workspace.')
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
    enableRbacAuthorization: true
    enableSoftDelete: true
    softDeleteRetentionInDays: softDeleteDays
    enablePurgeProtection: true
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
    name: guid(vault.id, principal.id, roles['Key Vault Certificates Officer'])
    scope: vault
    properties: {
      principalId: principal.id
      principalType: principal.type
      roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', roles['Key Vault Certificates Officer'])
    }
  }
]

resource secretsOfficer 'Microsoft.Authorization/roleAssignments@2022-04-01' = [
  for principal in vaultOfficers: {
    name: guid(vault.id, principal.id, roles['Key Vault Secrets Officer'])
    scope: vault
    properties: {
      principalId: principal.id
      principalType: principal.type
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

// Reads of secrets, and refusals.
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

resource lock 'Microsoft.Authorization/locks@2020-05-01' = if (deleteLock) {
  name: 'no-delete'
  scope: vault
  properties: {
    level: 'CanNotDelete'
    notes: 'It holds the certificates and keys of the workers and the handler.'
  }
}

@description('Address of the vault, for KEY_VAULT_URL.')
output vaultUri string = vault.properties.vaultUri
