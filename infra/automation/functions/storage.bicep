// The storage account of the Functions app: the host's locks, the timer's state, diagnostic events,
// and the deployment package. It has no data of migrations. Write access must be limited, because
// the package runs with the identity of the app.

@description('Name of the account.')
@minLength(3)
@maxLength(24)
param accountName string

@description('Region of the account.')
param location string

@description('Tags of the account and its private endpoints.')
param tags object

@description('True: use three availability zones.')
param zoneRedundant bool

@description('True: private endpoints. False: public endpoints, protected by roles.')
param privateNetwork bool

@description('Addresses or CIDR ranges that may deploy in private mode.')
param deployerAddresses array

@description('Resource id of the subnet of private endpoints; empty in the public mode.')
param privateEndpointSubnetId string

@description('Prefix of the names of the private endpoints.')
param privateEndpointPrefix string

@description('Name of the app\'s identity, from which the names of role assignments are derived.')
param identityName string

@description('Object id of the app\'s identity.')
param principalId string

@description('Resource id of the Log Analytics workspace.')
param workspaceId string

var roles = {
  storageBlobDataOwner: 'b7e6dc6d-f1e8-4753-8033-0f276bb0955b'
  storageTableDataContributor: '0a9a7e1f-b9d0-4cc4-a60d-0319b160aaa3'
}

// Locks, the timer's state and the package are blobs; diagnostic events are in tables. Only blob
// triggers would need queues.
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
    // No keys and no shared access signatures.
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
          // The service refuses /32.
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
    // A deleted or overwritten package can be restored for a week.
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

// The account refuses concurrent changes.
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

// Changes of the package. The host reads too often to log reads.
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

@description('Name of the container of deployment packages.')
output deploymentContainer string = deployments.name

@description('Address of that container.')
output deploymentContainerUrl string = '${account.properties.primaryEndpoints.blob}${deployments.name}'
