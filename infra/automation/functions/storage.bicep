// The storage account of the Functions app: the host's locks and the timer's last run, its
// diagnostic events, and the container that the app's package is deployed to and run from.
//
// Nothing of a migration is kept here. What counts is who may write: whoever replaces the
// package runs as the app.

@description('Name of the account.')
@minLength(3)
@maxLength(24)
param accountName string

@description('Region of the account.')
param location string

@description('Tags of the account and its private endpoints.')
param tags object

@description('Three zones instead of one.')
param zoneRedundant bool

@description('Closed to the public, with private endpoints; else open to whoever has a role.')
param privateNetwork bool

@description('Addresses or ranges let in for deployments in private mode, in CIDR notation.')
param deployerAddresses array

@description('Resource id of the subnet of private endpoints; empty in the public mode.')
param privateEndpointSubnetId string

@description('Name of the private endpoints, without what part of the account each leads to.')
param privateEndpointPrefix string

@description('Name of the app\'s identity, from which the names of role assignments are derived.')
param identityName string

@description('Object id of the app\'s identity.')
param principalId string

@description('Resource id of the workspace that takes the logs.')
param workspaceId string

var roles = {
  storageBlobDataOwner: 'b7e6dc6d-f1e8-4753-8033-0f276bb0955b'
  storageTableDataContributor: '0a9a7e1f-b9d0-4cc4-a60d-0319b160aaa3'
}

// The host's locks, the timer's state and the package are blobs. Into tables it writes
// diagnostic events, such as why it cannot start. Queues are for blob triggers, of which
// there is none.
var hostRoles = [
  roles.storageBlobDataOwner
  roles.storageTableDataContributor
]

var parts = [
  'blob'
  'queue'
  'table'
]

resource account 'Microsoft.Storage/storageAccounts@2025-01-01' = {
  name: accountName
  location: location
  tags: tags
  kind: 'StorageV2'
  sku: {
    name: zoneRedundant ? 'Standard_ZRS' : 'Standard_LRS'
  }
  properties: {
    accessTier: 'Hot'
    allowBlobPublicAccess: false
    allowCrossTenantReplication: false
    // No keys, and no signatures made with them.
    allowSharedKeyAccess: false
    defaultToOAuthAuthentication: true
    minimumTlsVersion: 'TLS1_2'
    supportsHttpsTrafficOnly: true
    publicNetworkAccess: privateNetwork && empty(deployerAddresses) ? 'Disabled' : 'Enabled'
    networkAcls: {
      bypass: 'None'
      defaultAction: privateNetwork ? 'Deny' : 'Allow'
      virtualNetworkRules: []
      ipRules: [
        for address in deployerAddresses: {
          action: 'Allow'
          // The service refuses /32: a single address stands there alone.
          value: replace(address, '/32', '')
        }
      ]
    }
  }
}

resource blobs 'Microsoft.Storage/storageAccounts/blobServices@2025-01-01' = {
  parent: account
  name: 'default'
  properties: {
    // A package that was overwritten or deleted can be had back for a week.
    deleteRetentionPolicy: {
      enabled: true
      days: 7
    }
    containerDeleteRetentionPolicy: {
      enabled: true
      days: 7
    }
  }
}

resource deployments 'Microsoft.Storage/storageAccounts/blobServices/containers@2025-01-01' = {
  parent: blobs
  name: 'deployments'
  properties: {
    publicAccess: 'None'
  }
}

resource hostAccess 'Microsoft.Authorization/roleAssignments@2022-04-01' = [
  for role in hostRoles: {
    name: guid(account.id, identityName, role)
    scope: account
    properties: {
      roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', role)
      principalId: principalId
      principalType: 'ServicePrincipal'
    }
  }
]

// One after another, and after the container: the account refuses a change while another
// one is made.
@batchSize(1)
module endpoints '../../shared/private-endpoint.bicep' = [
  for part in parts: if (privateNetwork) {
    name: '${privateEndpointPrefix}-${part}'
    dependsOn: [
      deployments
    ]
    params: {
      endpointName: '${privateEndpointPrefix}-${part}'
      location: location
      tags: tags
      subnetId: privateEndpointSubnetId
      targetId: account.id
      groupId: part
      zoneName: 'privatelink.${part}.${environment().suffixes.storage}'
    }
  }
]

// Who replaced a package shows here. Reads are left out: the host's alone are many.
#disable-next-line use-recent-api-versions
resource diagnostics 'Microsoft.Insights/diagnosticSettings@2021-05-01-preview' = {
  name: 'log-analytics'
  scope: blobs
  properties: {
    workspaceId: workspaceId
    logs: [
      {
        category: 'StorageWrite'
        enabled: true
      }
      {
        category: 'StorageDelete'
        enabled: true
      }
    ]
    metrics: [
      {
        category: 'Transaction'
        enabled: true
      }
    ]
  }
}

@description('Name of the account.')
output accountName string = account.name

@description('Name of the container that packages are deployed to.')
output deploymentContainer string = deployments.name

@description('Address of that container.')
output deploymentContainerUrl string = '${account.properties.primaryEndpoints.blob}${deployments.name}'
